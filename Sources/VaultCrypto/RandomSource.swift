/// Where random bytes come from; tests put a seeded one in place of ``SecureRandom``.
package protocol RandomSource: Sendable {
    /// Gives `count` random bytes.
    func bytes(_ count: Int) throws(CryptoError) -> [UInt8]
}
