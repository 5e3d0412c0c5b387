/// The list of a vault's branches and tags, and what a client must know to use the vault (02-objects §7).
public struct BranchIndex: Equatable, Sendable {
    /// The record's type and version; nil when a stored index has none.
    public var schema: String?
    /// As stored: 1 or 2, nil for "never set", other numbers in vaults of the future.
    public var format: Int?
    /// The oldest client that may use the vault, three numbers; nil or empty when any may.
    public var minClient: String?
    /// The branches, in stored order.
    public var branches: [BranchRecord]
    /// Features of the vault; ones this version does not know are kept.
    public var features: [String]
    /// Tags that this version can read, sorted by name, one entry per name; deleted ones included.
    public var tags: [TagEntry]
    /// Tag entries that this version cannot read exactly; written back unchanged.
    package var carriedTags: [JSONValue]
    /// Branch records without an id, a head or a name; written back unchanged.
    package var unusableBranches: [JSONValue]
    /// Members this version does not know; written back unchanged.
    package var unknownMembers: [JSONMember]

    /// A new index, as a new vault has it: no format set, no gate.
    public init(branches: [BranchRecord] = []) {
        schema = "branch_index_v1"
        self.branches = branches
        features = []
        tags = []
        carriedTags = []
        unusableBranches = []
        unknownMembers = []
    }
}

// MARK: - Reading and writing

extension BranchIndex {
    private static let known: Set<String> = ["schema", "format", "min_client", "branches", "features", "tags"]

    /// Reads the plaintext of a branch index.
    ///
    /// `nowMs` is only needed to judge between several entries of one tag: those dated more than a day after it lose.
    ///
    /// - Throws: `.malformed` or `.limitExceeded`; one bad branch record or feature makes the whole index unreadable.
    public static func decode(_ plaintext: Span<UInt8>, nowMs: Int64 = .max) throws(FormatError) -> BranchIndex {
        guard plaintext.count <= Limits.indexPlaintext else { throw .limit("the branch index is too large") }
        let record = try JSONReader.parse(plaintext)
        guard case .object(let members) = record else { throw .malformed("the branch index is not an object") }
        var index = BranchIndex()
        index.schema = try SchemaText.schema(record["schema"])
        if let format = try SchemaText.count(record["format"], maximum: Int64(Int32.max), what: "format") {
            index.format = Int(format)
        }
        index.minClient = try readMinClient(record["min_client"])
        for value in try SchemaText.list(record["branches"], what: "branches") {
            if let branch = try BranchRecord.read(value) {
                index.branches.append(branch)
            } else {
                index.unusableBranches.append(value)
            }
        }
        index.features = try readFeatures(record["features"])
        let tags = TagResolution(try SchemaText.list(record["tags"], what: "tags"), nowMs: nowMs)
        index.tags = tags.readable
        index.carriedTags = tags.carried
        index.unknownMembers = members.filter { !known.contains($0.name) }
        return index
    }

    /// The plaintext of the index, members in stored order.
    public func encode() -> [UInt8] {
        let sortedTags = tags.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let members = [
            JSONMember(name: "schema", value: .optional(schema)),
            JSONMember(name: "format", value: format.map { .integer(Int64($0)) } ?? .null),
            JSONMember(name: "min_client", value: .optional(minClient)),
            JSONMember(name: "branches", value: .array(branches.map(\.json) + unusableBranches)),
            JSONMember(name: "features", value: .array(features.map { .string($0) })),
            JSONMember(name: "tags", value: .array(sortedTags.map(\.json) + carriedTags)),
        ]
        return JSONWriter.bytes(.object(members + unknownMembers), .python)
    }

    private static func readMinClient(_ value: JSONValue?) throws(FormatError) -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let text):
            let text = UTF8Text.trimmed(text)
            guard text.isEmpty || (text.utf8.count <= 20 && FormatGate.exactVersion(text) != nil) else {
                throw .malformed("min_client is not three numbers")
            }
            return text
        default: throw .malformed("min_client is not a text")
        }
    }

    private static func readFeatures(_ value: JSONValue?) throws(FormatError) -> [String] {
        var features: [String] = []
        for item in try SchemaText.list(value, what: "features") {
            let text: String
            switch item {
            case .string(let value): text = UTF8Text.normalisedIdentifier(value)
            case .integer(let value): text = String(value)
            default: throw .malformed("a feature is not a text")
            }
            guard Feature.isValid(text) else { throw .malformed("a feature has characters it may not have") }
            features.append(text)
        }
        return features
    }
}

// MARK: - Asking

extension BranchIndex {
    /// The format the vault works with: 2 only if it says so, else 1.
    public var workingFormat: Int { format == 2 ? 2 : 1 }

    /// How long the ids of new objects are.
    public var idWidth: IDWidth { workingFormat == 2 ? .long : .short }

    /// Whether the vault lists a feature.
    public func hasFeature(_ name: String) -> Bool { features.contains(name) }

    /// Whether this version may write to the vault: a format it knows, and objects that are not kept in packs.
    public var isWritable: Bool {
        (format == nil || format == 1 || format == 2) && !hasFeature(Feature.packs)
    }

    /// Checks the vault's minimum client version against the one this client is compatible with.
    ///
    /// - Throws: `.unsupported`, naming both versions.
    public func checkGate() throws(FormatError) {
        guard let needed = FormatGate.refusedBelow(minClient: minClient) else { return }
        throw .unsupported(
            "this vault needs a client that is compatible with sgit-ai \(needed.text) or later, "
                + "and this one is compatible with \(FormatGate.compatibleVersion)")
    }

    /// The first branch of that name, named or a clone's.
    public func branch(named name: String) -> BranchRecord? {
        branches.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// The branch with that id.
    public func branch(id: BranchID) -> BranchRecord? {
        branches.first { $0.branchID == id }
    }

    /// The branch whose head is stored there.
    public func branch(headRefID: RefID) -> BranchRecord? {
        branches.first { $0.headRefID == headRefID }
    }

    /// The shared lines of work, in stored order.
    public var namedBranches: [BranchRecord] { branches.filter { $0.type == .named } }

    /// Tags that were not deleted, sorted by name.
    public var liveTags: [TagEntry] { tags.filter { !$0.isDeleted } }

    /// The entry of a tag, deleted or not.
    public func tag(named name: String) -> TagEntry? {
        tags.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Whether there is an entry of this name that this version cannot read and carries along.
    package func carriesTag(named name: String) -> Bool {
        carriedTags.contains { $0["name"]?.text?.utf8.elementsEqual(name.utf8) == true }
    }
}
