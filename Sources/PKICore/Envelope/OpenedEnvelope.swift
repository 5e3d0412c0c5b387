/// Which form an envelope has.
public enum EnvelopeForm: Sendable, Equatable {
    /// Version 1: one recipient, the older form of web pages. Read only.
    case version1
    /// Version 2: one recipient, as the reference writes and reads it.
    case version2
    /// Sealed: one recipient or more, with a signature over all of it. Of this project; `docs/pki-format.md`.
    case sealed

    /// The name for people and JSON: `1`, `2`, `sealed/1`.
    public var name: String {
        switch self {
        case .version1: "1"
        case .version2: "2"
        case .sealed: "sealed/1"
        }
    }
}

/// Whose signature an envelope carries, and what it is worth.
public enum EnvelopeSignature: Sendable, Equatable {
    /// What a signature covers.
    public enum Coverage: String, Sendable {
        /// The ciphertext alone: whoever opened it before could have wrapped its key for another recipient, and anybody
        /// on the way could have put this signature in the place of another's.
        case ciphertext
        /// The whole envelope, recipients included, by somebody who could open it.
        case whole
    }

    /// There is none. Anybody can take it away from an envelope of version 1 or 2.
    case unsigned
    /// It is by a known key.
    case verified(KnownKey, covers: Coverage)
    /// It names a key that is not known, in text from a stranger.
    case unknownSigner(claimed: String)
    /// It names a known key, which did not make it.
    case invalid(KnownKey)
}

/// An envelope that was opened.
public struct OpenedEnvelope: Sendable {
    /// Its form.
    public let form: EnvelopeForm
    /// Whose signature it carries.
    public let signature: EnvelopeSignature
    /// What was inside, whatever the signature is worth.
    package let content: [UInt8]

    /// What was inside, signed by a known key, an unknown one or nobody.
    /// - Throws: `signatureBad` when it names a known signer who did not sign it.
    public func plaintext() throws(PKIError) -> [UInt8] {
        if case .invalid(let key) = signature {
            throw PKIError(
                .signatureBad,
                "the signature claims to be by \(key.identity.fingerprint) \(key.identity.label.labelForDisplay) and is not",
                hint: "ask for the message again, and trust nothing of this one")
        }
        return content
    }

    /// What was inside, if this identity signed it: for a caller who relies on who the sender is.
    ///
    /// Keys are compared, not labels.
    ///
    /// * `covering`: What its signature has to cover at least. ``EnvelopeSignature/Coverage/ciphertext`` takes what the
    ///   reference signs, and then also a message that was passed on, or that this signer never read.
    /// - Throws: `signatureBad` in every other case, also when there is no signature.
    public func plaintext(
        signedBy signer: PublicIdentity, covering: EnvelopeSignature.Coverage = .whole
    ) throws(PKIError) -> [UInt8] {
        let wanted = "\(signer.fingerprint) \(signer.label.labelForDisplay)"
        guard let key = signer.signing else {
            throw PKIError(.signatureBad, "\(wanted) has no signing key, so nothing can be signed by it")
        }
        let content = try plaintext()
        switch signature {
        case .verified(let known, let covers) where known.identity.signing == key:
            guard covering == .ciphertext || covers == .whole else {
                throw PKIError(
                    .signatureBad,
                    "the signature of \(wanted) covers the ciphertext and not for whom or by whom it was encrypted",
                    hint: "--content-only takes what sgit signs")
            }
            return content
        case .verified(let known, _):
            throw PKIError(
                .signatureBad,
                "it is signed by \(known.identity.fingerprint) \(known.identity.label.labelForDisplay) and not by \(wanted)"
            )
        case .unknownSigner(let claimed):
            throw PKIError(
                .signatureBad, "its signature names an unknown key, \(claimed.quotedForDisplay), and not \(wanted)")
        case .unsigned, .invalid:
            throw PKIError(.signatureBad, "it is not signed, and has to be by \(wanted)")
        }
    }
}

/// What an envelope says of itself; nothing of it is verified.
public struct EnvelopeSummary: Sendable, Equatable {
    /// Its form.
    public let form: EnvelopeForm
    /// The encryption keys that a sealed message is for; empty for the other forms, which do not say.
    public let recipients: [Fingerprint]
    /// The signing fingerprint that it claims, in text from a stranger.
    public let claimedSigner: String?
}
