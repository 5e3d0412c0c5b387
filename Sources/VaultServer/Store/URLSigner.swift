internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Addresses that allow one thing for some time to whoever holds them, as an object store gives them out (04 §7).
///
/// The key lives as long as the server: after a restart addresses given out before are no longer good.
final class URLSigner: Sendable {
    private let key: HMACSHA256
    private let clock: any Clock
    private let lifetimeSeconds: Int64

    init(random: any RandomSource, clock: any Clock, lifetimeSeconds: Int64) throws {
        let bytes = try random.bytes(32)
        key = try HMACSHA256(key: bytes.span)
        self.clock = clock
        self.lifetimeSeconds = lifetimeSeconds
    }

    /// A path, whose segments are escaped, with the query that makes it valid.
    ///
    /// * `path`: The decoded path.
    func sign(method: String, path: String, escaped: String) throws -> String {
        let expires = clock.nowMs / 1000 + lifetimeSeconds
        let code = try code(method, path, expires)
        return escaped + "?expires=\(expires)&signature=" + Hex.text(code.span)
    }

    /// Whether a request shows a signature that is good now.
    func isValid(method: String, target: RequestTarget) throws -> Bool {
        guard let text = target.parameter("expires"), let expires = Int64(text), expires >= clock.nowMs / 1000,
            let signature = target.parameter("signature")
        else { return false }
        let digits = Array(signature.utf8)
        guard let shown = Hex.decode(digits.span) else { return false }
        let code = try code(method, target.path, expires)
        return ConstantTime.equal(code.span, shown.span)
    }

    private func code(_ method: String, _ path: String, _ expires: Int64) throws -> [UInt8] {
        // A path holds no control character, so the parts can not run into each other.
        let message = Array("\(method)\n\(expires)\n\(path)".utf8)
        return try key.authenticate(message.span)
    }
}
