/// What others may know of an identity: a label and the public halves of its keys.
public struct PublicIdentity: Sendable, Equatable {
    /// Free text, chosen by whoever made the identity; print it with control characters quoted, next to the fingerprint.
    public let label: String
    /// What messages to the identity are sealed to.
    public let encryption: EncryptionPublicKey
    /// What its signatures are verified with; nil for one that cannot sign.
    public let signing: SigningPublicKey?

    /// Joins the parts.
    public init(label: String, encryption: EncryptionPublicKey, signing: SigningPublicKey?) {
        self.label = label
        self.encryption = encryption
        self.signing = signing
    }

    /// The name of the identity: the fingerprint of its encryption key.
    public var fingerprint: Fingerprint { encryption.fingerprint }

    /// The name that its signatures carry.
    public var signingFingerprint: Fingerprint? { signing?.fingerprint }

    public static func == (left: PublicIdentity, right: PublicIdentity) -> Bool {
        left.label.utf8.elementsEqual(right.label.utf8) && left.encryption == right.encryption
            && left.signing == right.signing
    }
}

/// A public identity and how it came to be known.
public struct KnownKey: Sendable, Equatable {
    /// Where a key is known from.
    public enum Source: String, Sendable {
        /// Somebody's bundle was imported.
        case contact
        /// The private half lies in the same store.
        case ownKey = "own key"
    }

    /// Whose it is.
    public let identity: PublicIdentity
    /// Where it is known from.
    public let source: Source

    /// Joins the parts.
    public init(identity: PublicIdentity, source: Source) {
        self.identity = identity
        self.source = source
    }
}

/// Everybody whose signatures can be verified, in the order in which a signing key is looked for.
public struct KnownSigners: Sendable {
    private let keys: [KnownKey]

    /// Takes keys in the order of their precedence: contacts by file name, then own keys (08-pki §6.3).
    public init(_ keys: [KnownKey]) {
        self.keys = keys
    }

    /// Nobody.
    public static let none = KnownSigners([])

    /// The first key with the signing fingerprint that a file claims, compared exactly.
    ///
    /// An empty claim is nobody's.
    public subscript(claimed: String) -> KnownKey? {
        guard let fingerprint = Fingerprint(claimed) else { return nil }
        return keys.first { $0.identity.signingFingerprint == fingerprint }
    }
}
