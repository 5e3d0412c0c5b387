internal import VaultFormat

/// A public identity as a file or as text to pass on (08-pki §5, `docs/pki-format.md`).
public struct PublicBundle: Sendable {
    /// Whose keys they are; both fingerprints are computed from them, whatever the file says.
    public let identity: PublicIdentity
    /// What a person should know about the file.
    public let warnings: [PKIWarning]
    /// The keys as they were written.
    let encryptionText: String
    let signingText: String

    private static let version: Int64 = 1

    /// A bundle of an identity's own making.
    public init(_ identity: PublicIdentity) {
        self.identity = identity
        warnings = []
        encryptionText = String(decoding: identity.encryption.pem, as: UTF8.self)
        signingText = identity.signing.map { String(decoding: $0.pem, as: UTF8.self) } ?? ""
    }

    /// Reads a bundle, or the text that ``link()`` gives, at most 1 MiB.
    ///
    /// - Throws: `objectCorrupt`; `formatUnsupported` for another version.
    public init(parsing bytes: [UInt8]) throws(PKIError) {
        guard let link = try IdentityLink.identity(in: bytes) else {
            self = try Self.read(bytes)
            return
        }
        self.init(link)
    }

    private init(identity: PublicIdentity, warnings: [PKIWarning], encryptionText: String, signingText: String) {
        self.identity = identity
        self.warnings = warnings
        self.encryptionText = encryptionText
        self.signingText = signingText
    }

    private static func read(_ bytes: [UInt8]) throws(PKIError) -> PublicBundle {
        let what = "the bundle"
        let value = try PKIDocument.object(bytes, limit: PKILimits.bundle, what: what)
        if let version = value["v"], version.int != Self.version {
            guard version.int != nil else { throw PKIError(.objectCorrupt, "\(what) has no version") }
            throw PKIError(.formatUnsupported, "\(what) has a version that is not supported")
        }
        let encryption = try PKIDocument.text(value, "encrypt", what: what)
        let signing = try PKIDocument.optionalText(value, "sign", what: what) ?? ""
        let label = try PKIDocument.optionalText(value, "label", what: what) ?? ""
        let identity = try identity(label: label, encryption: encryption, signing: signing)
        return PublicBundle(
            identity: identity, warnings: warnings(value, identity), encryptionText: encryption, signingText: signing)
    }

    /// The identity of key texts; an empty signing key is none.
    static func identity(label: String, encryption: String, signing: String) throws(PKIError) -> PublicIdentity {
        guard label.utf8.count <= PKILimits.label else {
            throw PKIError(.objectCorrupt, "the label is longer than \(PKILimits.label) bytes")
        }
        for text in [encryption, signing] where text.utf8.contains("PRIVATE KEY-----") {
            throw PKIError(
                .objectCorrupt, "this text holds a private key, which is not to be given away",
                hint: "export the public bundle: vaultctl pki export FINGERPRINT")
        }
        return PublicIdentity(
            label: label, encryption: try EncryptionPublicKey(pem: Array(encryption.utf8)),
            signing: signing.isEmpty ? nil : try SigningPublicKey(pem: Array(signing.utf8)))
    }

    private static func warnings(_ value: JSONValue, _ identity: PublicIdentity) -> [PKIWarning] {
        let claims: [(StaticString, String)] = [
            ("fingerprint", identity.fingerprint.text),
            ("signing_fingerprint", identity.signingFingerprint?.text ?? ""),
        ]
        return claims.compactMap { name, computed in
            guard let claimed = value[name]?.text, !claimed.utf8.elementsEqual(computed.utf8) else { return nil }
            return PKIWarning(
                "wrong_fingerprint",
                "the bundle says \(name) \(claimed.quotedForDisplay); its key has \(computed.isEmpty ? "none" : computed)"
            )
        }
    }

    /// The file, byte for byte as the reference exports it.
    public func bytes() -> [UInt8] {
        let value = JSONValue.record([
            "v": .integer(Self.version), "encrypt": .string(encryptionText), "sign": .string(signingText),
            "label": .string(identity.label), "fingerprint": .string(identity.fingerprint.text),
            "signing_fingerprint": .string(identity.signingFingerprint?.text ?? ""),
        ])
        return JSONWriter.bytes(value, .pythonIndented2) + [0x0A]
    }

    /// One line of text that stands for the bundle: about 900 characters that survive mail and chat.
    public func link() throws(PKIError) -> String {
        try IdentityLink.text(identity)
    }
}

extension String.UTF8View {
    /// Whether the bytes of a text stand somewhere in these.
    func contains(_ text: StaticString) -> Bool {
        let wanted = Array(text.description.utf8)
        var rest = self[...]
        while let start = rest.firstIndex(of: wanted[0]) {
            if rest[start...].starts(with: wanted) { return true }
            rest = rest[rest.index(after: start)...]
        }
        return false
    }
}
