package import VaultCrypto

/// A tag: a name for a commit, always signed (02-objects §10).
package struct TagObject: Equatable, Sendable {
    package var schema: String?
    package var name: String?
    /// As stored; an object id in tags that can be followed.
    package var commitID: String?
    package var message: String?
    /// The writer's clone branch.
    package var taggerBranch: String?
    /// The signing public key, usually a `KeyID`.
    package var taggerKeyID: String?
    /// 64 bytes of ECDSA P-256 as base64.
    package var signature: String?
    /// Milliseconds since 1970 in UTC; nil when the stored tag says `null`.
    package var timestampMs: Int64?

    /// A new tag, not yet signed.
    package init(
        name: String, commitID: ObjectID, message: String, taggerBranch: BranchID, taggerKeyID: KeyID,
        timestampMs: Int64
    ) {
        schema = "tag_v1"
        self.name = name
        self.commitID = commitID.text
        self.message = message
        self.taggerBranch = taggerBranch.text
        self.taggerKeyID = taggerKeyID.text
        self.timestampMs = timestampMs
    }

    /// The commit the tag names.
    ///
    /// - Throws: `.malformed` when it names none.
    package func target() throws(FormatError) -> ObjectID {
        guard let commitID else { throw .malformed("the tag names no commit") }
        return try ObjectID(commitID)
    }

    /// Reads the plaintext of a tag object.
    ///
    /// - Throws: `.malformed` or `.limitExceeded` when the tag is unreadable.
    package static func decode(_ plaintext: Span<UInt8>) throws(FormatError) -> TagObject {
        let record = try JSONReader.parse(plaintext)
        guard case .object = record else { throw .malformed("a tag is not a JSON object") }
        return try TagObject(record)
    }

    private init(_ record: JSONValue) throws(FormatError) {
        schema = try SchemaText.schema(record["schema"])
        name = try SchemaText.text(record["name"], limit: 100, what: "name") {
            SchemaText.isName($0) || $0 == 0x2E || $0 == 0x2F
        }
        commitID = try SchemaText.text(record["commit_id"], limit: 256, what: "commit_id")
        message = try Self.message(record["message"])
        if let branch = try SchemaText.text(record["tagger_branch"], limit: 256, what: "tagger_branch") {
            taggerBranch = branch.isEmpty ? "" : try BranchID(lenient: branch).text
        }
        taggerKeyID = try SchemaText.text(record["tagger_key_id"], limit: Limits.authorKeyID, what: "tagger_key_id") {
            SchemaText.isName($0) || $0 == 0x3A
        }
        signature = try SchemaText.text(
            record["signature"], limit: Limits.signatureEncoded, what: "signature", SchemaText.isBase64)
        timestampMs = try SchemaText.count(record["timestamp_ms"], maximum: .max, what: "timestamp_ms")
        if timestampMs == nil, record["timestamp_ms"] == nil { timestampMs = 0 }
    }

    private static func message(_ value: JSONValue?) throws(FormatError) -> String? {
        switch value {
        case nil, .null: return nil
        case .integer(let number): return String(number)
        case .string(let text):
            guard isValidMessage(text) else { throw .malformed("the tag's message is too long or has controls in it") }
            return text
        default: throw .malformed("the tag's message is not a text")
        }
    }

    /// Whether a tag may say this: 4,096 characters, no controls but tab, line feed and carriage return.
    package static func isValidMessage(_ text: String) -> Bool {
        text.unicodeScalars.count <= Limits.tagMessage
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x20 ? scalar.value != 0x7F : [0x09, 0x0A, 0x0D].contains(scalar.value)
            }
    }

    /// The plaintext of the tag object, members in stored order.
    package func encode() -> [UInt8] {
        var members = members
        members.insert(JSONMember(name: "signature", value: .optional(signature)), at: members.count - 1)
        return JSONWriter.bytes(.object(members), .python)
    }

    /// What the signature covers: seven members sorted by name, compact JSON, UTF-8.
    package func signingBytes() -> [UInt8] {
        JSONWriter.bytes(.object(members), .canonical)
    }

    private var members: [JSONMember] {
        [
            JSONMember(name: "schema", value: .optional(schema)),
            JSONMember(name: "name", value: .optional(name)),
            JSONMember(name: "commit_id", value: .optional(commitID)),
            JSONMember(name: "message", value: .optional(message)),
            JSONMember(name: "tagger_branch", value: .optional(taggerBranch)),
            JSONMember(name: "tagger_key_id", value: .optional(taggerKeyID)),
            JSONMember(name: "timestamp_ms", value: timestampMs.map { .integer($0) } ?? .null),
        ]
    }

    /// Whether the tag is signed, by this key, over the content it has.
    ///
    /// The caller compares `name` with the index entry.
    package func verify(with key: P256PublicKey) -> Bool {
        guard let signature, let bytes = Base64.decode(Array(signature.utf8).span) else { return false }
        let message = signingBytes()
        return key.isValid(signature: bytes.span, for: message.span)
    }

    /// Signs the tag as it stands.
    package mutating func sign(with key: P256PrivateKey) throws(FormatError) {
        let message = signingBytes()
        let bytes = try withCryptoErrors { () throws(CryptoError) in try key.sign(message.span) }
        signature = Base64.text(bytes.span)
    }
}
