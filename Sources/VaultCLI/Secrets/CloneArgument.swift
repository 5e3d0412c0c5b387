internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// The key of `clone`: what its argument says and what comes from elsewhere (spec 01 §1.4, 10 B.5).
struct CloneArgument {
    let call: Call

    /// The key to clone with.
    func key() throws -> AccessKey {
        let argument = call.arguments.allPositionals.first ?? []
        if argument == [UInt8(ascii: "-")] {
            try SecretInput(call: call).checkSingleSource("standard input")
            let text = try SecretInput(call: call).standardInput()
            return try text.withBytes { bytes in try complete(bytes, from: "standard input") }
        }
        if let direct = try fromArgument(argument) {
            try SecretInput(call: call).checkSingleSource("an argument")
            return direct
        }
        return try fromElsewhere(argument)
    }

    /// The key that the argument itself is; nil when it is a vault id.
    private func fromArgument(_ argument: [UInt8]) throws -> AccessKey? {
        switch KeyText.kind(of: argument.span) {
        case .readPublic: return try complete(argument.span, from: "the argument")
        case .unknown where !argument.contains(UInt8(ascii: ":")): return nil
        case .vault, .readPrivate: return try complete(argument.span, from: "the argument")
        case .unknown:
            try SecretInput(call: call).checkArgument("a private key as an argument")
            return try complete(argument.span, from: "the argument")
        }
    }

    /// The key from the options, the environment or the terminal, for the vault whose id was given.
    private func fromElsewhere(_ argument: [UInt8]) throws -> AccessKey {
        guard let name = UTF8Text.validated(argument.span), let id = try? VaultID(name) else {
            throw Usage.error("the argument is no vault id, published read key or '-'", about: [call.verb])
        }
        let source = SecretInput(call: call).source ?? "the answer"
        let text = try SecretInput(call: call).key(for: "vault \(id.text)")
        return try text.withBytes { bytes in
            if Self.isBareReadKey(bytes) {
                return try SecretInput.accessKey(argument.span, from: source, readKey: bytes)
            }
            let key = try complete(bytes, from: source)
            guard key.vaultID == id else {
                throw VaultError(.keyWrong, "the key that was given is the key of another vault than \(id.text)")
            }
            return key
        }
    }

    /// A key text that says which vault it is for.
    private func complete(_ bytes: Span<UInt8>, from source: String) throws -> AccessKey {
        guard !Self.isBareReadKey(bytes) else {
            throw Usage.error("a read key alone does not say which vault it is for; name the vault: clone ID")
        }
        return try SecretInput.accessKey(bytes, from: source)
    }

    /// 64 hex digits, with or without a prefix, and no vault id.
    private static func isBareReadKey(_ bytes: Span<UInt8>) -> Bool {
        guard KeyText.kind(of: bytes) != .vault else { return false }
        let bare = bytes.extracting(KeyText.stripped(bytes))
        return bare.count == 64 && Hex.decode(bare) != nil
    }
}
