internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Who may write: holders of an access token, and of the vault's write key (04 §5).
final class AccessControl: Sendable {
    /// Nil where nobody is asked for a token.
    private let tokens: Locked<TokenFile?>
    private let isReadOnly: Bool
    /// What addresses that the server gives out begin with, when the operator said so.
    private let publicURL: String?
    private let scheme: String
    let random: any RandomSource

    init(tokens: TokenFile?, configuration: ServerConfiguration) {
        self.tokens = Locked(tokens)
        isReadOnly = configuration.isReadOnly
        publicURL = configuration.publicURL
        scheme = configuration.certificate == nil ? "http" : "https"
        random = configuration.environment.random
    }

    /// The base of addresses for a client that reached the server under this `Host`.
    func baseURL(host: String?) -> String {
        if let publicURL { return publicURL }
        let isHost =
            host.map { host in
                (1...255).contains(host.utf8.count)
                    && host.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x3A, 0x41...0x5B, 0x5D, 0x61...0x7A, 0x2D, 0x2E: true
                        default: false
                        }
                    }
            } ?? false
        return scheme + "://" + (isHost ? host ?? "" : "localhost")
    }

    /// Takes the tokens of a file that was read again.
    func replace(_ tokens: TokenFile) {
        self.tokens.withLock { $0 = tokens }
    }

    /// What a writer showed: the headers of one request.
    struct Credentials: Sendable {
        let token: String?
        let writeKey: String?
        let tokenName: Locked<String?>
    }

    static func credentials(_ request: Request) -> Credentials {
        Credentials(
            token: request.exchange.header("x-sgraph-access-token"),
            writeKey: request.exchange.header("x-sgraph-vault-write-key"), tokenName: request.task.tokenName)
    }

    /// Checks token and presence of a write key, in this order, and gives the hash that owners are known by.
    ///
    /// - Throws: 401 without a valid token, 400 without a write key, 403 on a server that takes no writes.
    func checkWriter(_ credentials: Credentials) throws -> String {
        if let tokens = tokens.withLock({ $0 }) {
            guard let token = credentials.token, let name = try tokens.name(of: token) else {
                throw Refusal(401, "Access token required")
            }
            credentials.tokenName.withLock { $0 = name }
        }
        guard let writeKey = credentials.writeKey, !writeKey.isEmpty else { throw Refusal(400, "Missing write key") }
        if isReadOnly { throw Refusal.readOnly }
        // The text as sent: a key in upper case is another key.
        let text = Array(writeKey.utf8)
        let hash = try SHA256.hash(text.span)
        return Hex.text(hash.span)
    }

    /// Whether a write key with this hash may write a vault.
    ///
    /// - Throws: 403 when it may not.
    static func check(_ hash: String, _ owner: VaultOwner) throws(Refusal) {
        switch owner {
        case .nobody: return
        case .destroyed: throw .wrongWriteKey
        case .writeKey(let held):
            let (left, right) = (Array(held.utf8), Array(hash.utf8))
            guard ConstantTime.equal(left.span, right.span) else { throw .wrongWriteKey }
        }
    }
}
