internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// An answer before it is sent.
struct Reply: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case file(SentDescriptor, offset: Int64, count: Int64)
    }

    var status: Int
    var contentType: String
    var body: Body
    var headers: [(name: StaticString, value: String)] = []
    /// The memory that the answer takes, given back when it has been sent.
    var charge: MemoryCharge?

    /// A JSON document, which nobody may keep.
    static func json(_ value: JSONValue, status: Int = 200) -> Reply {
        json(JSONWriter.bytes(value, .compact), status: status)
    }

    /// A JSON document that is spelled already.
    static func json(_ bytes: [UInt8], status: Int = 200, charge: MemoryCharge? = nil) -> Reply {
        Reply(
            status: status, contentType: "application/json", body: .bytes(bytes), headers: [noStore], charge: charge)
    }

    /// A refusal in the form of the API: `{"detail": …}`.
    static func problem(_ status: Int, _ detail: String) -> Reply {
        json(.record(["detail": .string(detail)]), status: status)
    }

    static let noStore: (name: StaticString, value: String) = ("Cache-Control", "no-store")
}

/// A descriptor on its way to the library; closed when it never gets there.
final class SentDescriptor: Sendable {
    private let file: LinuxFile

    init?(_ file: any File) {
        guard let file = file as? LinuxFile else { return nil }
        self.file = file
    }

    /// A descriptor that the taker has to close; -1 when the process has no more.
    func take() -> Int32 {
        do throws(Errno) { return try file.duplicateDescriptor() } catch { return -1 }
    }
}

/// A request that is answered with a refusal.
struct Refusal: Error, Sendable {
    let reply: Reply

    init(_ status: Int, _ detail: String) {
        reply = .problem(status, detail)
    }

    init(_ reply: Reply) {
        self.reply = reply
    }

    // The sentences are those of the real server (04 §3, §5, §6), which clients show.
    static let notFound = Refusal(404, "Not Found")
    static let noSuchFile = Refusal(404, "Vault file not found")
    static let wrongWriteKey = Refusal(403, "Write key mismatch")
    static let readOnly = Refusal(403, "This server is read-only")
    static let tooLarge = Refusal(413, "Request body too large")
    static let busy: Refusal = {
        var reply = Reply.problem(503, "The server is busy")
        reply.headers.append(("Retry-After", "1"))
        return Refusal(reply)
    }()
    static let diskFull = Refusal(507, "No space left on the server")
}

extension Reply {
    /// The answer to whatever went wrong; what is not the client's business stays out of it.
    init(_ error: any Error) {
        switch error {
        case let refusal as Refusal: self = refusal.reply
        case let error as VaultError: self.init(error)
        case let error as Errno: self = error.isOutOfSpace ? Refusal.diskFull.reply : Self.failure
        default: self = Self.failure
        }
    }

    private init(_ error: VaultError) {
        switch error.code {
        case .keyWrong, .refused: self = Refusal.wrongWriteKey.reply
        case .noSpace: self = Refusal.diskFull.reply
        case .locked, .cancelled: self = Refusal.busy.reply
        case .notSupported: self = Refusal(501, "The vault has more files than a listing may have").reply
        case .readOnlyRemote: self = Refusal(403, "This vault is read-only here").reply
        case .nameTaken: self = Refusal(400, "file_id is in the way of a folder").reply
        default: self = Self.failure
        }
    }

    static let failure = Reply.problem(500, "An unexpected error occurred.")
}
