/// What a person holds to get into a vault: the vault key, or a read key and the vault's id.
public enum AccessKey: ~Copyable {
    /// Read and write.
    case vault(VaultKey)
    /// Read only.
    case read(ReadKey, VaultID)

    /// The vault the key opens.
    public var vaultID: VaultID {
        switch self {
        case .vault(let key): key.vaultID
        case .read(_, let id): id
        }
    }

    /// Decides what the key argument of `clone` is, with or without a separate read key (01-keys-and-crypto §1.4).
    ///
    /// - Throws: `.invalidKey` when a declared read key does not come with a vault id, or nothing of it parses.
    public static func routing(argument: Span<UInt8>, readKey: Span<UInt8>?) throws(FormatError) -> AccessKey {
        let kind = KeyText.kind(of: argument)
        let bare = argument.extracting(KeyText.stripped(argument))
        if let readKey {
            return .read(try ReadKey(text: readKey), try vaultID(bare))
        }
        if kind != .vault, let colon = bare.firstIndex(of: 0x3A) {
            let head = bare.extracting(..<colon)
            let tail = bare.extracting((colon + 1)...)
            if head.count == 64, Hex.isLower(head), isIDLike(tail) {
                return .read(try ReadKey(hex: head), try vaultID(tail))
            }
        }
        guard kind == .vault || kind == .unknown else {
            throw .invalidKey("a read key of 64 lower-case hex digits needs a colon and the vault id after it")
        }
        return .vault(try VaultKey(parsing: argument))
    }

    private static func vaultID(_ text: Span<UInt8>) throws(FormatError) -> VaultID {
        let scheme = "vault://"
        return try VaultID(utf8: text.starts(with: scheme) ? text.extracting(scheme.utf8.count...) : text)
    }

    private static func isIDLike(_ text: Span<UInt8>) -> Bool {
        for index in text.indices {
            switch text[index] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: continue
            default: return false
            }
        }
        return !text.isEmpty
    }
}
