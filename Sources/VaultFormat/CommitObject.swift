/// One commit (02-objects §5).
public struct CommitObject: Equatable, Sendable {
    /// The record's type and version, `commit_v1`; nil when the stored commit has none.
    public var schema: String?
    /// The root tree; nil only in a damaged commit, which reads but leads nowhere.
    public var treeID: ObjectID?
    /// The sealed message as base64; nil when there is none.
    public var messageEncrypted: String?
    /// The writer's clone branch; empty when unknown.
    public var branchID: String?
    /// 64 bytes of ECDSA P-256 as base64; nil when the commit is not signed.
    public var signature: String?
    /// The signer's public key, usually a `KeyID`; set exactly when signed.
    public var authorKeyID: String?
    /// Reserved.
    public var authorSignature: String?
    /// The commits before this one: first the writer's own previous head, then the merged one.
    public var parents: [ObjectID]
    /// Milliseconds since 1970 in UTC.
    public var timestampMs: Int64
    /// Reserved.
    public var attestations: [String]

    /// Members that the stored commit spells in a way the properties above cannot tell; signatures cover them.
    private var spelledNull: SpelledNull = []

    /// A new commit, not yet signed.
    public init(
        treeID: ObjectID, parents: [ObjectID], timestampMs: Int64, branchID: BranchID?, messageEncrypted: String?
    ) {
        schema = "commit_v1"
        self.treeID = treeID
        self.messageEncrypted = messageEncrypted
        self.branchID = branchID?.text ?? ""
        self.parents = parents
        self.timestampMs = timestampMs
        attestations = []
    }

    private struct SpelledNull: OptionSet {
        let rawValue: UInt8
        static let parents = SpelledNull(rawValue: 1)
        static let attestations = SpelledNull(rawValue: 2)
        static let timestamp = SpelledNull(rawValue: 4)
        /// The tree id is the empty text, not `null`.
        static let emptyTree = SpelledNull(rawValue: 8)
        /// The schema is the empty text, not `null`.
        static let emptySchema = SpelledNull(rawValue: 16)
    }
}

// MARK: - Reading

extension CommitObject {
    /// Reads the plaintext of a commit object.
    ///
    /// Ids in upper case or with white space around them are taken in their normal form, members that are missing get
    /// their defaults, unknown ones are ignored, and a bad branch id alone reads as empty (02-objects §5.3).
    ///
    /// - Throws: `.malformed` or `.limitExceeded` when the commit is unreadable.
    public static func decode(_ plaintext: Span<UInt8>) throws(FormatError) -> CommitObject {
        let record = try JSONReader.parse(plaintext)
        guard case .object = record else { throw .malformed("a commit is not a JSON object") }
        return try CommitObject(record)
    }

    private init(_ record: JSONValue) throws(FormatError) {
        schema = try SchemaText.schema(record["schema"])
        if schema == nil, record["schema"]?.isNull == false { spelledNull.insert(.emptySchema) }
        if let text = try SchemaText.text(record["tree_id"], limit: 256, what: "tree_id") {
            if text.isEmpty { spelledNull.insert(.emptyTree) } else { treeID = try ObjectID(lenient: text) }
        }
        messageEncrypted = try SchemaText.text(
            record["message_enc"], limit: Limits.metadataEncoded, what: "message_enc", SchemaText.isBase64)
        branchID = Self.branch(record["branch_id"])
        signature = try SchemaText.text(
            record["signature"], limit: Limits.signatureEncoded, what: "signature", SchemaText.isBase64)
        authorKeyID = try SchemaText.text(record["author_key_id"], limit: Limits.authorKeyID, what: "author_key_id") {
            SchemaText.isName($0) || $0 == 0x3A
        }
        authorSignature = try SchemaText.text(
            record["author_signature"], limit: Limits.signatureEncoded, what: "author_signature", SchemaText.isBase64)
        let time = try SchemaText.count(
            record["timestamp_ms"], maximum: Limits.commitTimestampMs, what: "timestamp_ms")
        timestampMs = time ?? 0
        if time == nil, record["timestamp_ms"] != nil { spelledNull.insert(.timestamp) }
        parents = []
        for item in try Self.items(record["parents"], what: "parents") {
            guard case .string(let text) = item else { throw .malformed("a parent is not an object id") }
            parents.append(try ObjectID(lenient: text))
        }
        if record["parents"]?.isNull == true { spelledNull.insert(.parents) }
        attestations = []
        for item in try Self.items(record["attestations"], what: "attestations") {
            let text = try SchemaText.text(
                item, limit: Limits.signatureEncoded, what: "attestation", SchemaText.isBase64)
            attestations.append(text ?? "")
        }
        if record["attestations"]?.isNull == true { spelledNull.insert(.attestations) }
    }

    private static func items(_ value: JSONValue?, what: StaticString) throws(FormatError) -> [JSONValue] {
        let items = try SchemaText.list(value, what: what)
        guard items.count <= Limits.commitListItems else { throw .limit("\(what) has too many items") }
        return items
    }

    /// A branch id in its normal form; empty when it is none, nil when there is nothing.
    private static func branch(_ value: JSONValue?) -> String? {
        switch value {
        case nil, .null: nil
        case .string(let text): (try? BranchID(lenient: text))?.text ?? ""
        default: ""
        }
    }

    /// The root tree of a commit that has to have one.
    package func rootTree() throws(FormatError) -> ObjectID {
        guard let treeID else { throw .malformed("the commit names no tree") }
        return treeID
    }
}

// MARK: - Writing

extension CommitObject {
    /// The plaintext of the commit object, members in stored order (02-objects §5.1).
    public func encode() -> [UInt8] {
        JSONWriter.bytes(.object(members(signature: signature)), .python)
    }

    /// All ten members in stored order.
    func members(signature: String?) -> [JSONMember] {
        [
            JSONMember(name: "schema", value: schema.map { .string($0) } ?? empty(.emptySchema)),
            JSONMember(name: "tree_id", value: treeID.map { .string($0.text) } ?? empty(.emptyTree)),
            JSONMember(name: "message_enc", value: .optional(messageEncrypted)),
            JSONMember(name: "branch_id", value: .optional(branchID)),
            JSONMember(name: "signature", value: .optional(signature)),
            JSONMember(name: "author_key_id", value: .optional(authorKeyID)),
            JSONMember(name: "author_signature", value: .optional(authorSignature)),
            JSONMember(
                name: "parents",
                value: null(.parents, unless: !parents.isEmpty) ?? .array(parents.map { .string($0.text) })),
            JSONMember(
                name: "timestamp_ms", value: null(.timestamp, unless: timestampMs != 0) ?? .integer(timestampMs)),
            JSONMember(
                name: "attestations",
                value: null(.attestations, unless: !attestations.isEmpty) ?? .array(attestations.map { .string($0) })),
        ]
    }

    private func empty(_ member: SpelledNull) -> JSONValue {
        spelledNull.contains(member) ? .string("") : .null
    }

    private func null(_ member: SpelledNull, unless isSet: Bool) -> JSONValue? {
        spelledNull.contains(member) && !isSet ? .null : nil
    }
}
