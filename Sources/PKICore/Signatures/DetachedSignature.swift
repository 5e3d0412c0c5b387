internal import VaultFormat
package import VaultSystem

/// What a detached signature is worth.
public enum SignatureVerdict: Sendable, Equatable {
    /// It is by this known key, over these bytes.
    case valid(KnownKey)
    /// It names this known key, which did not make it over these bytes.
    case invalid(KnownKey)
    /// It names a key that is not known.
    case unknownSigner

    /// Whether it is by this identity and nobody else; keys are compared, not labels.
    public func isValid(by signer: PublicIdentity) -> Bool {
        guard case .valid(let known) = self, let key = signer.signing else { return false }
        return known.identity.signing == key
    }
}

/// A signature in a file of its own, `FILE.sig`: ECDSA P-256 over the SHA-256 of the bytes (08-pki §7, §8).
public struct DetachedSignature: Sendable, Equatable {
    /// r ‖ s, 64 bytes; a file may hold another number, and then it is never valid.
    public let signature: [UInt8]
    /// The signing fingerprint that it claims, in text that may be a stranger's.
    public let claimedSigner: String

    private init(signature: [UInt8], claimedSigner: String) {
        self.signature = signature
        self.claimedSigner = claimedSigner
    }

    /// Reads a signature file, at most 64 KiB.
    /// - Throws: `objectCorrupt`.
    public init(parsing bytes: [UInt8]) throws(PKIError) {
        let what = "the signature file"
        let value = try PKIDocument.object(bytes, limit: PKILimits.signature, what: what)
        let text = try PKIDocument.text(value, "signature", what: what)
        claimedSigner = try PKIDocument.text(value, "fingerprint", what: what)
        guard let decoded = EnvelopeText.bytes(text) else {
            throw PKIError(.objectCorrupt, "\(what) is damaged: the signature is no base64 text")
        }
        signature = decoded
    }

    /// The file, byte for byte as the reference writes it.
    public func bytes() -> [UInt8] {
        let value = JSONValue.record([
            "signature": .string(Base64.text(signature.span)), "fingerprint": .string(claimedSigner),
        ])
        return JSONWriter.bytes(value, .pythonIndented2)
    }

    /// Signs bytes in memory.
    public static func sign(_ message: [UInt8], with key: SigningPrivateKey) throws(PKIError) -> DetachedSignature {
        try sign(digest: try FileDigest.of(message), with: key)
    }

    /// Signs a file of any length, read once.
    /// - Throws: `cancelled` when the task is cancelled meanwhile; an I/O error.
    public static func sign(file path: String, with key: SigningPrivateKey) throws(PKIError) -> DetachedSignature {
        try sign(digest: try FileDigest.ofFile(FilePath(path), cancellation: NoCancellation()), with: key)
    }

    /// Signs everything from the position of an open file to its end.
    package static func sign(
        reading file: any File, name: String, with key: SigningPrivateKey,
        cancellation: any Cancellation = NoCancellation()
    ) throws(PKIError) -> DetachedSignature {
        try sign(digest: try FileDigest.of(file, name: name, cancellation: cancellation), with: key)
    }

    private static func sign(digest: [UInt8], with key: SigningPrivateKey) throws(PKIError) -> DetachedSignature {
        DetachedSignature(
            signature: try key.sign(digest: digest), claimedSigner: key.publicKey.fingerprint.text)
    }

    /// What the signature is worth for bytes in memory.
    public func verify(_ message: [UInt8], signers: KnownSigners) throws(PKIError) -> SignatureVerdict {
        try verdict(signers) { () throws(PKIError) in try FileDigest.of(message) }
    }

    /// What the signature is worth for a file of any length, read once.
    /// - Throws: `pathNotFound` or an I/O error, as an absent file is no invalid one; `cancelled` when the task is
    ///   cancelled meanwhile.
    public func verify(file path: String, signers: KnownSigners) throws(PKIError) -> SignatureVerdict {
        try verdict(signers) { () throws(PKIError) in
            try FileDigest.ofFile(FilePath(path), cancellation: NoCancellation())
        }
    }

    /// What the signature is worth for everything from the position of an open file to its end.
    package func verify(
        reading file: any File, name: String, signers: KnownSigners, cancellation: any Cancellation = NoCancellation()
    ) throws(PKIError) -> SignatureVerdict {
        try verdict(signers) { () throws(PKIError) in
            try FileDigest.of(file, name: name, cancellation: cancellation)
        }
    }

    private func verdict(
        _ signers: KnownSigners, _ digest: () throws(PKIError) -> [UInt8]
    ) throws(PKIError) -> SignatureVerdict {
        // The file is read in any case, so that its absence does not depend on who is known.
        let digest = try digest()
        guard let known = signers[claimedSigner], let key = known.identity.signing else { return .unknownSigner }
        return key.isValid(signature, digest: digest) ? .valid(known) : .invalid(known)
    }
}
