internal import VaultCore
internal import VaultFormat

/// One operation of a batch as it was sent (04 §4).
struct BatchOperation: Sendable {
    enum Kind: Sendable, Equatable {
        case read, write, writeIfMatch, delete
        /// Stops the batch; the name as sent.
        case unknown(String)
    }

    let kind: Kind
    let fileID: String
    /// Of a known operation.
    let path: StorePath?
    private let data: JSONValue?
    private let match: JSONValue?

    /// A body that the real server fails on.
    static let malformed = Refusal(Reply.failure)

    /// Reads the operations of a body.
    ///
    /// - Throws: 400 for none, too many, or an id that is none; 500, as the real server, for anything else.
    static func all(in document: JSONValue) throws(Refusal) -> [BatchOperation] {
        guard case .object = document else { throw malformed }
        let items: [JSONValue]
        switch document["operations"] {
        case nil, .null: items = []
        case .array(let list): items = list
        default: throw malformed
        }
        guard !items.isEmpty else { throw Refusal(400, "No operations provided") }
        guard items.count <= ServerLimits.batchOperations else {
            throw Refusal(400, "Too many operations (max \(ServerLimits.batchOperations))")
        }
        var operations: [BatchOperation] = []
        for item in items { operations.append(try BatchOperation(item)) }
        return operations
    }

    private init(_ value: JSONValue) throws(Refusal) {
        guard case .object = value else { throw Self.malformed }
        switch value["op"]?.text ?? "unknown" {
        case "read": kind = .read
        case "write": kind = .write
        case "write-if-match": kind = .writeIfMatch
        case "delete": kind = .delete
        case let name: kind = .unknown(name)
        }
        fileID = value["file_id"]?.text ?? ""
        if case .unknown = kind { path = nil } else { path = try Route.storePath(fileID) }
        data = value["data"]
        match = value["match"]
    }

    /// The bytes to be written.
    func content() throws(Refusal) -> [UInt8] {
        guard let text = data?.text, let bytes = LenientBase64.decode(text) else { throw Self.malformed }
        return bytes
    }

    /// What the file must hold; nil when it must be absent.
    func expected() throws(Refusal) -> [UInt8]? {
        switch match {
        case nil, .null: return nil
        case .string(let text):
            if text.isEmpty { return nil }
            guard let bytes = LenientBase64.decode(text) else { throw Self.malformed }
            return bytes
        default: throw Self.malformed
        }
    }

    // MARK: Results

    /// `{"op","file_id","status"}`.
    func result(_ status: String, _ more: KeyValuePairs<String, JSONValue> = [:]) -> JSONValue {
        let name: String =
            switch kind {
            case .read: "read"
            case .write: "write"
            case .writeIfMatch: "write-if-match"
            case .delete: "delete"
            case .unknown(let name): name
            }
        let members = [
            JSONMember(name: "op", value: .string(name)), JSONMember(name: "file_id", value: .string(fileID)),
            JSONMember(name: "status", value: .string(status)),
        ]
        return .object(members + more.map { JSONMember(name: $0.key, value: $0.value) })
    }

    /// The result of a read, which has no `op`.
    func readResult(_ bytes: [UInt8]?) -> JSONValue {
        guard let bytes else {
            return .record(["file_id": .string(fileID), "status": .string("not_found")])
        }
        return .record([
            "file_id": .string(fileID), "status": .string("ok"), "data": .string(Base64.text(bytes.span)),
        ])
    }
}
