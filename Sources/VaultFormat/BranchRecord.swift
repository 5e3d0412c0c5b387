/// One line of the branch index: a branch, its head and its key (02-objects §8).
public struct BranchRecord: Equatable, Sendable {
    /// What a branch is for.
    public enum Kind: String, Sendable {
        /// A shared line of work.
        case named
        /// The work of one clone that is not pushed yet.
        case clone
    }

    /// The record's own id.
    public var branchID: BranchID
    /// 1–64 of `A–Za–z0–9_-`; names of clone branches repeat.
    public var name: String
    /// What the branch is for.
    public var type: Kind
    /// Where the branch's head is stored.
    public var headRefID: RefID
    /// The branch's public key; nil in records of other clients that made none.
    public var publicKeyID: KeyID?
    /// Named by old vaults only; never set in new records.
    public var privateKeyID: String?
    /// Milliseconds since 1970 in UTC.
    public var createdAtMs: Int64
    /// For a clone branch the named branch it works against.
    public var creatorBranch: BranchID?
    /// A label, never used to find the branch.
    public var displayName: String?
    /// Members this version does not know; kept on rewriting.
    package var unknownMembers: [JSONMember] = []

    /// A new record.
    public init(
        branchID: BranchID, name: String, type: Kind, headRefID: RefID, publicKeyID: KeyID?, createdAtMs: Int64,
        creatorBranch: BranchID?
    ) {
        self.branchID = branchID
        self.name = name
        self.type = type
        self.headRefID = headRefID
        self.publicKeyID = publicKeyID
        self.createdAtMs = createdAtMs
        self.creatorBranch = creatorBranch
    }

    /// Whether `text` can be a branch's name.
    public static func isValidName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(SchemaText.isName)
    }
}

// MARK: - Reading and writing

extension BranchRecord {
    private static let known: Set<String> = [
        "branch_id", "name", "branch_type", "head_ref_id", "public_key_id", "private_key_id", "created_at",
        "creator_branch", "display_name",
    ]

    /// Reads a record; nil when it is well-formed but names no branch, no head or no name, so that nobody can use it.
    ///
    /// - Throws: `.malformed` when a member is not what it has to be; the whole index is unreadable then.
    static func read(_ value: JSONValue) throws(FormatError) -> BranchRecord? {
        guard case .object(let members) = value else { throw .malformed("a branch record is not an object") }
        let branchID = try id(value["branch_id"], BranchID.init(_:))
        let name = try self.name(value["name"])
        let type = try kind(value["branch_type"])
        let headRefID = try id(value["head_ref_id"], RefID.init(_:))
        let publicKeyID = try id(value["public_key_id"], KeyID.init(_:))
        let privateKeyID = try id(value["private_key_id"], KeyID.init(_:))
        let createdAt = try Timestamp.milliseconds(value["created_at"])
        let creatorBranch = try id(value["creator_branch"], BranchID.init(_:))
        let displayName = try self.name(value["display_name"])
        guard let branchID, let name, let headRefID else { return nil }
        var record = BranchRecord(
            branchID: branchID, name: name, type: type, headRefID: headRefID, publicKeyID: publicKeyID,
            createdAtMs: createdAt, creatorBranch: creatorBranch)
        record.privateKeyID = privateKeyID?.text
        record.displayName = displayName
        record.unknownMembers = members.filter { !known.contains($0.name) }
        return record
    }

    /// The record as JSON: known members in stored order, then unknown ones.
    var json: JSONValue {
        let members = [
            JSONMember(name: "branch_id", value: .string(branchID.text)),
            JSONMember(name: "name", value: .string(name)),
            JSONMember(name: "branch_type", value: .string(type.rawValue)),
            JSONMember(name: "head_ref_id", value: .string(headRefID.text)),
            JSONMember(name: "public_key_id", value: .optional(publicKeyID?.text)),
            JSONMember(name: "private_key_id", value: .optional(privateKeyID)),
            JSONMember(name: "created_at", value: .integer(createdAtMs)),
            JSONMember(name: "creator_branch", value: .optional(creatorBranch?.text)),
            JSONMember(name: "display_name", value: .optional(displayName)),
        ]
        return .object(members + unknownMembers)
    }

    /// Takes over every member of `other` that says something.
    mutating func merge(_ other: BranchRecord) {
        name = other.name
        type = other.type
        headRefID = other.headRefID
        publicKeyID = other.publicKeyID ?? publicKeyID
        privateKeyID = other.privateKeyID ?? privateKeyID
        if other.createdAtMs != 0 { createdAtMs = other.createdAtMs }
        creatorBranch = other.creatorBranch ?? creatorBranch
        displayName = other.displayName ?? displayName
        unknownMembers = JSONMember.merged(unknownMembers, other.unknownMembers)
    }

    private static func id<ID>(
        _ value: JSONValue?, _ make: (String) throws(FormatError) -> ID
    ) throws(FormatError) -> ID? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            let text = UTF8Text.normalisedIdentifier(text)
            return text.isEmpty ? nil : try make(text)
        default: throw .malformed("an id of a branch record is not a text")
        }
    }

    private static func name(_ value: JSONValue?) throws(FormatError) -> String? {
        guard
            let text = try SchemaText.text(value, limit: 64, what: "branch name", SchemaText.isName), !text.isEmpty
        else { return nil }
        return text
    }

    private static func kind(_ value: JSONValue?) throws(FormatError) -> Kind {
        switch value {
        case nil, .null: return .named
        case .string("named"), .string("NAMED"): return .named
        case .string("clone"), .string("CLONE"): return .clone
        default: throw .malformed("a branch is neither named nor a clone's")
        }
    }
}

extension JSONMember {
    /// The members of both; for a name in both the value of `second`.
    static func merged(_ first: [JSONMember], _ second: [JSONMember]) -> [JSONMember] {
        guard !second.isEmpty else { return first }
        var places: [[UInt8]: Int] = [:]
        var result: [JSONMember] = []
        for member in first + second {
            let key = Array(member.name.utf8)
            if let place = places[key] {
                result[place].value = member.value
            } else {
                places[key] = result.count
                result.append(member)
            }
        }
        return result
    }
}
