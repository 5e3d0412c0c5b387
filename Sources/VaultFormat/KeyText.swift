/// What the prefix of a key text declares (01-keys-and-crypto §1.1).
public enum KeyTextKind: String, Sendable {
    /// A vault key: read and write.
    case vault
    /// A read key, secret.
    case readPrivate = "read-private"
    /// A read key, published on purpose.
    case readPublic = "read-public"
    /// No known prefix; the context decides.
    case unknown
}

/// The outer form of key texts: prefixes and the white space around them.
public enum KeyText {
    /// The prefix of a vault key.
    package static let vaultPrefix = "sgit_private_vault_"
    /// The prefix of a secret read key.
    package static let readPrivatePrefix = "sgit_private_read_"
    /// The prefix of a published read key.
    package static let readPublicPrefix = "sgit_public_read_"

    private static let prefixes: [(text: String, kind: KeyTextKind)] = [
        (vaultPrefix, .vault), (readPrivatePrefix, .readPrivate), (readPublicPrefix, .readPublic),
        ("sgit_vk1_", .vault), ("sgit_rk1_", .readPrivate),
    ]

    /// What the prefix of `text` declares; white space around the text does not count, its shape is not looked at.
    public static func kind(of text: Span<UInt8>) -> KeyTextKind {
        prefix(of: text.extracting(UTF8Text.stripped(text)))?.kind ?? .unknown
    }

    /// The prefix of `text`; nil when it has none.
    public static func prefix(of text: Span<UInt8>) -> String? {
        prefix(of: text.extracting(UTF8Text.stripped(text)))?.text
    }

    /// Where the bare key lies in `text`: white space at both ends and the first prefix, once, are taken off.
    package static func stripped(_ text: Span<UInt8>) -> Range<Int> {
        let range = UTF8Text.stripped(text)
        guard let found = prefix(of: text.extracting(range)) as (text: String, kind: KeyTextKind)? else { return range }
        return (range.lowerBound + found.text.utf8.count)..<range.upperBound
    }

    private static func prefix(of text: Span<UInt8>) -> (text: String, kind: KeyTextKind)? {
        prefixes.first { text.starts(with: $0.text) }
    }
}

extension Span<UInt8> {
    /// Whether the bytes begin with those of `prefix`.
    func starts(with prefix: String) -> Bool {
        var index = 0
        for byte in prefix.utf8 {
            guard index < count, self[index] == byte else { return false }
            index += 1
        }
        return true
    }

    /// The first place of `byte`.
    func firstIndex(of byte: UInt8) -> Int? {
        for index in indices where self[index] == byte { return index }
        return nil
    }

    /// The last place of `byte`.
    func lastIndex(of byte: UInt8) -> Int? {
        for index in indices.reversed() where self[index] == byte { return index }
        return nil
    }

    /// The bytes as an array.
    package func array() -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count)
        for index in indices { result.append(self[index]) }
        return result
    }
}
