internal import VaultCore
internal import VaultFormat

/// The bodies of the batch route (spec 04 §4).
enum BatchCodec {
    /// The most operations that one request carries.
    static let operations = 50
    /// The most base64 characters that one request carries; one larger operation still goes alone.
    static let payload = 4 << 20

    /// A conditional or unconditional step as it stands on the wire.
    struct Step: Sendable {
        enum Kind: String, Sendable {
            case write
            case writeIfMatch = "write-if-match"
            case delete
        }

        var kind: Kind
        var file: FileID
        var data: [UInt8] = []
        /// Of a conditional write: the bytes that must be there; nil when nothing may be.
        var match: [UInt8]?
    }

    /// What became of one operation.
    enum Result: Sendable, Equatable {
        case done
        /// A read that found this.
        case content([UInt8])
        case absent
        /// A conditional write that found this; nil for nothing, or for an empty file.
        case conflict([UInt8]?)
        /// A server whose batches are atomic undid it, because a later operation conflicted.
        case undone
        case refused(String)
    }

    /// The body that reads files.
    static func reading(_ files: [FileID]) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(files.count * 90 + 32)
        body.append("{\"operations\":[")
        for (position, file) in files.enumerated() {
            body.append(position == 0 ? "{\"op\":\"read\",\"file_id\":\"" : ",{\"op\":\"read\",\"file_id\":\"")
            // Ids hold neither quotes nor backslashes.
            body += file.path.utf8
            body.append("\"}")
        }
        body.append("]}")
        return body
    }

    /// The body that carries out steps.
    static func writing(_ steps: [Step]) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(
            steps.reduce(32) { $0 + Base64.encodedCount($1.data.count) + 160 + ($1.match?.count ?? 0) * 2 })
        body.append("{\"operations\":[")
        for (position, step) in steps.enumerated() {
            if position > 0 { body.append(",") }
            body.append("{\"op\":\"")
            body += step.kind.rawValue.utf8
            body.append("\",\"file_id\":\"")
            body += step.file.path.utf8
            if step.kind != .delete {
                body.append("\",\"data\":\"")
                Base64.append(step.data.span, to: &body)
            }
            if let match = step.match {
                body.append("\",\"match\":\"")
                Base64.append(match.span, to: &body)
            }
            body.append("\"}")
        }
        body.append("]}")
        return body
    }

    /// An answer to a batch: results in order, as far as the server went.
    struct Answer: Sendable {
        var results: [(file: String, result: Result)]
        /// The server told of a conflict without saying where.
        var conflictsSomewhere = false
    }

    /// Reads an answer.
    ///
    /// - Throws: `FormatError` when it is none, or one of its contents is not base64.
    static func answer(_ body: [UInt8]) throws(FormatError) -> Answer {
        let bounds = JSONReader.Bounds(depth: 8, values: 4096)
        let document = try JSONReader.parse(body.span, bounds: bounds)
        let conflicts = document["status"]?.text == "conflict"
        guard let items = document["results"]?.items else {
            guard conflicts else { throw .malformed("no results") }
            return Answer(results: [], conflictsSomewhere: true)
        }
        var results: [(file: String, result: Result)] = []
        for item in items { results.append((item["file_id"]?.text ?? "", try result(item))) }
        let isTold = results.contains { if case .conflict = $0.result { true } else { false } }
        return Answer(results: results, conflictsSomewhere: conflicts && !isTold)
    }

    private static func result(_ item: JSONValue) throws(FormatError) -> Result {
        switch item["status"]?.text {
        case "ok"?:
            guard let data = item["data"] else { return .done }
            guard let text = data.text, let bytes = decoded(text) else { throw .malformed("no base64") }
            return .content(bytes)
        case "not_found"?, "404"?: return .absent
        case "not_applied"?: return .undone
        case "conflict"?:
            guard let current = item["current"], !current.isNull else { return .conflict(nil) }
            guard let text = current.text, let bytes = decoded(text) else { throw .malformed("no base64") }
            return .conflict(bytes)
        case let status: return .refused(item["detail"]?.text ?? status ?? "no status")
        }
    }

    private static func decoded(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        return Base64.decode(characters.span)
    }
}
