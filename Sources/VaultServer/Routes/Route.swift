internal import VaultCore
internal import VaultFormat

/// What a request asks for (04 §3).
enum Route: Sendable, Equatable {
    case serverHealth
    case read(VaultID, StorePath)
    case readBase64(VaultID, StorePath)
    case write(VaultID, StorePath)
    case delete(VaultID, StorePath)
    case batch(VaultID)
    case list(VaultID)
    case destroy(VaultID)
    case vaultHealth(VaultID)
    case zip(VaultID)
    case presignedInitiate(VaultID)
    case presignedComplete(VaultID)
    case presignedCancel(VaultID)
    case presignedReadURL(VaultID, StorePath)
    /// The signed addresses that the presigned routes give out.
    case sentPart(VaultID, upload: String, part: Int)
    case signedFile(VaultID, StorePath)
    /// Anything outside the API.
    case other

    /// The vault that is asked for.
    var vault: VaultID? {
        switch self {
        case .serverHealth, .other: nil
        case .read(let vault, _), .readBase64(let vault, _), .write(let vault, _), .delete(let vault, _),
            .batch(let vault), .list(let vault), .destroy(let vault), .vaultHealth(let vault), .zip(let vault),
            .presignedInitiate(let vault), .presignedComplete(let vault), .presignedCancel(let vault),
            .presignedReadURL(let vault, _), .sentPart(let vault, _, _), .signedFile(let vault, _):
            vault
        }
    }

    /// Finds the route of a decoded path.
    ///
    /// - Throws: 404 for no route of the API, 405 for another method, 400 for ids that are none.
    init(method: String, path: String) throws(Refusal) {
        if path == "/info/health" {
            guard method == "GET" else { throw Self.wrongMethod }
            self = .serverHealth
            return
        }
        let segments = path.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
        if segments.count >= 2, segments[1] == "transfer" {
            self = try Self.transfer(method, segments)
            return
        }
        guard segments.count >= 3, segments[1] == "api", segments[2] == "vault" else {
            self = .other
            return
        }
        guard segments.count >= 5 else { throw .notFound }
        if segments[3] == "presigned" {
            self = try Self.presigned(method, segments)
            return
        }
        guard let verb = Self.verbs[segments[3]], !segments[4].isEmpty else { throw .notFound }
        guard method == verb.method else { throw Self.wrongMethod }
        let file = segments.count > 5 ? segments[5] : ""
        if verb.takesFile {
            guard !file.isEmpty else { throw Refusal(400, "Missing file_id in path") }
        } else {
            guard segments.count == 5 else { throw .notFound }
        }
        let vault = try Self.vaultID(segments[4])
        switch segments[3] {
        case "read": self = .read(vault, try Self.storePath(file))
        case "read-base64": self = .readBase64(vault, try Self.storePath(file))
        case "write": self = .write(vault, try Self.storePath(file))
        case "delete": self = .delete(vault, try Self.storePath(file))
        case "batch": self = .batch(vault)
        case "list": self = .list(vault)
        case "destroy": self = .destroy(vault)
        case "health": self = .vaultHealth(vault)
        default: self = .zip(vault)
        }
    }

    private static let verbs: [String: (method: String, takesFile: Bool)] = [
        "read": ("GET", true), "read-base64": ("GET", true), "write": ("PUT", true), "delete": ("DELETE", true),
        "batch": ("POST", false), "list": ("GET", false), "destroy": ("DELETE", false), "health": ("GET", false),
        "zip": ("GET", false),
    ]

    /// `/api/vault/presigned/STEP/VAULT[/FILE]`.
    private static func presigned(_ method: String, _ segments: [String]) throws(Refusal) -> Route {
        guard segments.count == 6 else { throw .notFound }
        let step = segments[4]
        guard ["initiate", "complete", "cancel", "read-url"].contains(step) else { throw .notFound }
        guard method == (step == "read-url" ? "GET" : "POST") else { throw wrongMethod }
        let rest = segments[5].utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1).map { String(Substring($0)) }
        guard let name = rest.first else { throw .notFound }
        let vault = try vaultID(name)
        if step == "read-url" {
            guard rest.count == 2 else { throw Refusal(400, "Missing file_id in path") }
            return .presignedReadURL(vault, try storePath(rest[1]))
        }
        guard rest.count == 1 else { throw .notFound }
        switch step {
        case "initiate": return .presignedInitiate(vault)
        case "complete": return .presignedComplete(vault)
        default: return .presignedCancel(vault)
        }
    }

    /// `/transfer/part/VAULT/UPLOAD/NUMBER` and `/transfer/file/VAULT/FILE`.
    private static func transfer(_ method: String, _ segments: [String]) throws(Refusal) -> Route {
        guard segments.count >= 5 else { throw .notFound }
        let vault = try vaultID(segments[3])
        switch segments[2] {
        case "part":
            guard segments.count == 6, let part = Int(segments[5]), part > 0 else { throw .notFound }
            guard method == "PUT" else { throw wrongMethod }
            return .sentPart(vault, upload: segments[4], part: part)
        case "file":
            guard method == "GET" else { throw wrongMethod }
            return .signedFile(vault, try storePath(segments[4...].joined(separator: "/")))
        default: throw .notFound
        }
    }

    private static let wrongMethod = Refusal(405, "Method Not Allowed")

    /// Servers take longer ids than clients make (04 §2.1).
    private static func vaultID(_ text: String) throws(Refusal) -> VaultID {
        guard let id = try? VaultID(text), id.isServable else {
            throw Refusal(400, "vault_id must be an opaque lowercase alphanumeric string (8-24 chars, no hyphens)")
        }
        return id
    }

    static func storePath(_ text: String) throws(Refusal) -> StorePath {
        guard let path = StorePath(text) else {
            throw Refusal(400, "file_id must be a path below bare/ without empty or hidden segments")
        }
        return path
    }
}
