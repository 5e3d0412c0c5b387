internal import VaultCrypto
package import VaultSystem

/// How far the making of an identity has come.
public enum KeyGenerationProgress: Sendable, Equatable {
    /// Candidates for primes that were looked at so far; told now and then.
    case searching(candidates: Int)
    /// One of two primes was found.
    case foundPrime
}

/// The private halves of an identity: a key to open messages and a key to sign, unrelated to each other.
public struct KeyPair: Sendable {
    /// Opens what was sealed to the identity.
    public let encryption: EncryptionPrivateKey
    /// Signs in the name of the identity.
    public let signing: SigningPrivateKey

    /// The length of the modulus of a new encryption key.
    public static let modulusBits = 4096

    /// Joins two keys.
    public init(encryption: EncryptionPrivateKey, signing: SigningPrivateKey) {
        self.encryption = encryption
        self.signing = signing
    }

    /// Takes over an identity from its two private keys as PEM, both under the same passphrase or without one.
    ///
    /// Both public halves are computed.
    /// - Throws: as ``EncryptionPrivateKey/init(pem:passphrase:)``.
    public init(encryptionPEM: [UInt8], signingPEM: [UInt8], passphrase: borrowing Passphrase) throws(PKIError) {
        signing = try SigningPrivateKey(pem: signingPEM, passphrase: passphrase)
        encryption = try EncryptionPrivateKey(pem: encryptionPEM, passphrase: passphrase)
    }

    /// Makes a new identity: RSA of 4096 bits with exponent 65537, and P-256; 0.3 to 10 seconds of work.
    ///
    /// The work is done on a thread of its own. Cancelling the task ends it soon.
    ///
    /// * `progress`: Called on that thread.
    /// - Throws: `cancelled`.
    public static func generate(
        progress: @escaping @Sendable (KeyGenerationProgress) -> Void = { _ in }
    ) async throws -> KeyPair {
        let flag = StopFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do throws(Errno) {
                    try BackgroundThread.detached {
                        continuation.resume(with: Result { try generate(cancellation: flag, progress: progress) })
                    }
                } catch {
                    continuation.resume(throwing: PKIError.io(error, "cannot start a thread"))
                }
            }
        } onCancel: {
            flag.set()
        }
    }

    /// Makes a new identity on this thread.
    /// - Throws: `cancelled` when the cancellation asks for it.
    package static func generate(
        cancellation: any Cancellation, progress: (KeyGenerationProgress) -> Void
    ) throws(PKIError) -> KeyPair {
        var candidates = 0
        let encryption = try readingKey("the encryption key") { () throws(CryptoError) in
            try RSAPrivateKey.generate(bits: modulusBits) { step in
                switch step {
                case .prime: progress(.foundPrime)
                case .candidate:
                    candidates += 1
                    if candidates % 16 == 1 { progress(.searching(candidates: candidates)) }
                }
                return (try? cancellation.check()) != nil
            }
        }
        let signing = try crypto("making a signing key") { () throws(CryptoError) in try P256PrivateKey.generate() }
        return KeyPair(
            encryption: try EncryptionPrivateKey(encryption), signing: try SigningPrivateKey(signing))
    }

    /// What others may know of the identity.
    public func publicIdentity(label: String) -> PublicIdentity {
        PublicIdentity(label: label, encryption: encryption.publicKey, signing: signing.publicKey)
    }
}

/// A wish to stop that one thread has and another looks for.
private final class StopFlag: Cancellation {
    private let isSet = Locked(false)

    func set() { isSet.withLock { $0 = true } }

    func check() throws(Interruption) {
        // The number is told to nobody: the work ends as cancelled.
        if isSet.withLock({ $0 }) { throw Interruption(signal: 0) }
    }
}
