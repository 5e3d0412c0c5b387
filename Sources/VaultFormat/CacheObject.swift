/// An optional copy of a file, or a shortcut to a file or folder, at a place that follows from its path (02-objects §11).
package struct CacheObject: Equatable, Sendable {
    /// What the object holds.
    package enum Content: Equatable, Sendable {
        /// A file's content.
        case value([UInt8])
        /// A file's blob.
        case blob(ObjectID, size: Int64)
        /// A folder's tree.
        case tree(ObjectID)
    }

    /// The vault path, byte for byte; a reader compares it with the path it derived the place from.
    package var path: String
    package var mutability: CacheID.Mutability
    /// The head of the named branch the copy reflects; with another head it is stale.
    package var commitID: ObjectID
    package var contentType: String
    /// Nil for a folder.
    package var contentHash: String?
    package var content: Content

    package init(
        path: String, mutability: CacheID.Mutability, commitID: ObjectID, contentType: String, contentHash: String?,
        content: Content
    ) {
        self.path = path
        self.mutability = mutability
        self.commitID = commitID
        self.contentType = contentType
        self.contentHash = contentHash
        self.content = content
    }

    /// Reads the plaintext of either kind of cache object.
    ///
    /// - Throws: `.malformed` when it is none; a cache object that cannot be read is as good as absent.
    package static func decode(_ plaintext: Span<UInt8>) throws(FormatError) -> CacheObject {
        let record = try JSONReader.parse(plaintext)
        guard let path = record["path"]?.text, let commit = record["commit_id"]?.text,
            let mutability = CacheID.Mutability(rawValue: record["mutability"]?.text ?? "")
        else { throw .malformed("not a cache object") }
        return CacheObject(
            path: path, mutability: mutability, commitID: try ObjectID(lenient: commit),
            contentType: record["content_type"]?.text ?? "", contentHash: record["content_hash"]?.text,
            content: try content(record))
    }

    private static func content(_ record: JSONValue) throws(FormatError) -> Content {
        let size = try SchemaText.count(record["size"], maximum: .max, what: "size") ?? 0
        switch (record["kind"]?.text, record["target_kind"]?.text) {
        case ("value", _):
            guard let text = record["value_b64"]?.text, let bytes = Base64.decode(Array(text.utf8).span) else {
                throw .malformed("a cached value is not base64")
            }
            guard Int64(bytes.count) == size else { throw .malformed("a cached value has another size than it says") }
            return .value(bytes)
        case ("pointer", "blob"): return .blob(try target(record), size: size)
        case ("pointer", "tree"): return .tree(try target(record))
        default: throw .malformed("not a cache object")
        }
    }

    private static func target(_ record: JSONValue) throws(FormatError) -> ObjectID {
        guard let text = record["target_id"]?.text else { throw .malformed("a cache pointer points nowhere") }
        return try ObjectID(lenient: text)
    }

    /// The plaintext of the object, members in stored order.
    package func encode() -> [UInt8] {
        let common: [JSONMember] = [
            JSONMember(name: "path", value: .string(path)),
            JSONMember(name: "mutability", value: .string(mutability.rawValue)),
            JSONMember(name: "commit_id", value: .string(commitID.text)),
            JSONMember(name: "content_type", value: .string(contentType)),
        ]
        let hash = JSONMember(name: "content_hash", value: .optional(contentHash))
        switch content {
        case .value(let bytes):
            return Self.object(
                "value",
                common + [
                    hash, JSONMember(name: "value_b64", value: .string(Base64.text(bytes.span))),
                    Self.size(bytes.count),
                ])
        case .blob(let id, let size):
            return Self.object("pointer", common + Self.pointer("blob", id) + [hash, Self.size(Int(clamping: size))])
        case .tree(let id):
            return Self.object("pointer", common + Self.pointer("tree", id) + [hash, Self.size(0)])
        }
    }

    private static func object(_ kind: String, _ members: [JSONMember]) -> [UInt8] {
        let head = [
            JSONMember(name: "schema", value: .string("cache_\(kind)_v1")),
            JSONMember(name: "kind", value: .string(kind)),
        ]
        return JSONWriter.bytes(.object(head + members), .python)
    }

    private static func pointer(_ kind: String, _ id: ObjectID) -> [JSONMember] {
        [
            JSONMember(name: "target_kind", value: .string(kind)),
            JSONMember(name: "target_id", value: .string(id.text)),
        ]
    }

    private static func size(_ count: Int) -> JSONMember {
        JSONMember(name: "size", value: .integer(Int64(count)))
    }
}
