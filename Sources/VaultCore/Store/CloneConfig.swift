internal import VaultFormat

/// `local/config.json` (spec 03 §2.1).
///
/// Members this version does not know are kept.
struct CloneConfig: Sendable, Equatable {
    /// The clone branch; nil on read-only clones, empty on headless ones.
    var myBranchID: String?
    var isReadOnly: Bool
    var isSparse: Bool
    var usesPackStore: Bool
    var lastRemoteHead: ObjectID?
    var remoteHeadsFile: Bool
    var scopePaths: [String]
    var shallowBoundaries: Set<ObjectID>
    /// The object as read, for what is not known here.
    private var raw: JSONValue

    static let fileName = "config.json"

    /// The settings of a new clone.
    init(myBranchID: String?, isReadOnly: Bool, lastRemoteHead: ObjectID?) {
        self.myBranchID = myBranchID
        self.isReadOnly = isReadOnly
        isSparse = false
        usesPackStore = false
        self.lastRemoteHead = lastRemoteHead
        remoteHeadsFile = false
        scopePaths = []
        shallowBoundaries = []
        let names = [
            "my_branch_id", "mode", "sparse", "pack_store", "publish_visibility", "last_remote_head",
            "remote_heads_file", "scope_paths", "shallow_boundaries",
        ]
        raw = .object(names.map { JSONMember(name: $0, value: .null) })
    }

    init(reading value: JSONValue) throws(VaultError) {
        func text(_ name: String) throws(VaultError) -> String? {
            switch value[name: name] {
            case nil, .null?: return nil
            case .string(let text)?: return text
            default: throw Self.unusable(name)
            }
        }
        func flag(_ name: String) throws(VaultError) -> Bool {
            switch value[name: name] {
            case nil, .null?: return false
            case .bool(let flag)?: return flag
            default: throw Self.unusable(name)
            }
        }
        func texts(_ name: String) throws(VaultError) -> [String] {
            switch value[name: name] {
            case nil, .null?: return []
            case .array(let items)?:
                var result: [String] = []
                for item in items {
                    guard let text = item.textValue else { throw Self.unusable(name) }
                    result.append(text)
                }
                return result
            default: throw Self.unusable(name)
            }
        }
        func object(_ name: String, _ text: String) throws(VaultError) -> ObjectID {
            do throws(FormatError) { return try ObjectID(text) } catch { throw Self.unusable(name) }
        }
        myBranchID = try text("my_branch_id")
        switch try text("mode") {
        case nil, "", "full": isReadOnly = false
        case "read_only": isReadOnly = true
        default: throw Self.unusable("mode")
        }
        isSparse = try flag("sparse")
        usesPackStore = try flag("pack_store")
        if let head = try text("last_remote_head"), !head.isEmpty {
            lastRemoteHead = try object("last_remote_head", head)
        }
        remoteHeadsFile = try flag("remote_heads_file")
        scopePaths = try texts("scope_paths")
        shallowBoundaries = []
        for text in try texts("shallow_boundaries") {
            shallowBoundaries.insert(try object("shallow_boundaries", text))
        }
        raw = value
        if let id = myBranchID, !id.isEmpty {
            do throws(FormatError) { _ = try BranchID(id) } catch { throw Self.unusable("my_branch_id") }
        }
    }

    /// The object to store, unknown members included.
    var json: JSONValue {
        raw.setting("my_branch_id", to: myBranchID.map { .string($0) } ?? .null)
            .setting("mode", to: isReadOnly ? .string("read_only") : .null)
            .setting("sparse", to: .bool(isSparse))
            .setting("pack_store", to: .bool(usesPackStore))
            .setting("last_remote_head", to: lastRemoteHead.map { .string($0.text) } ?? .null)
            .setting("remote_heads_file", to: .bool(remoteHeadsFile))
            .setting("scope_paths", to: .array(scopePaths.map { .string($0) }))
            .setting(
                "shallow_boundaries", to: .array(shallowBoundaries.sorted().map { .string($0.text) }))
    }

    private static func unusable(_ member: String) -> VaultError {
        VaultError(
            .objectCorrupt, "local/config.json can not be used: the member \(member) has a wrong value",
            hint: "vaultctl fsck --repair", path: "local/config.json")
    }
}
