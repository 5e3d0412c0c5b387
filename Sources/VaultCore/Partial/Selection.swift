internal import VaultFormat
internal import VaultSystem

/// Which part of a vault a clone holds, as its `config.json` says.
struct HeldPart: Sendable, Equatable {
    var scope = Scope.whole
    /// Not every tracked file is in the working copy, and of what is not the content need not be here.
    var isSparse = false
    /// History ends at commits whose parents were not fetched.
    var isShallow = false

    /// Whether contents of the vault may rightly be absent here.
    var isPartial: Bool { isSparse || isShallow || !scope.isWhole }

    init() {}

    init(_ config: CloneConfig) throws(VaultError) {
        scope = try Scope(recorded: config.scopePaths)
        isSparse = config.isSparse
        isShallow = !config.shallowBoundaries.isEmpty
    }
}

/// Which tracked files of a sparse clone are in its working copy (spec 03 §2.5), with the folders whose new files come
/// into it (`local/vaultctl/sparse.json`).
struct Selection: Sendable {
    /// Files that were written here; nil where there is no record, and a file whose content is held counts as written.
    var written: Set<VaultPath>?
    /// Folders and files that are kept in the working copy.
    var paths: [VaultPath] = []
    /// Files that the reference left at an older content, with that content's hash.
    var stale: [VaultPath: String] = [:]

    static let recordName = "checkout.json"
    static let staleName = "stale.json"
    static let ownName = "sparse.json"

    static func read(_ files: LocalFiles) throws(VaultError) -> Selection {
        var result = Selection()
        if let record = try files.readObject(recordName) {
            result.written = Set((record["paths"]?.items ?? []).compactMap(path))
        }
        for member in try files.readObject(staleName)?["paths"]?.members ?? [] {
            guard let hash = member.value.text else { continue }
            result.stale[VaultPath(unchecked: Array(member.name.utf8))] = hash
        }
        result.paths = (try files.readOwn(ownName)?["paths"]?.items ?? []).compactMap(path)
        return result
    }

    private static func path(_ item: JSONValue) -> VaultPath? {
        item.text.flatMap { try? VaultPath($0) }
    }

    /// Whether new files at this path come into the working copy.
    func wants(_ path: VaultPath) -> Bool { paths.contains { path.isAtOrBelow($0) } }

    func writePaths(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        guard !paths.isEmpty else { return try files.removeOwn(Self.ownName) }
        let items = Scope(paths).texts.map { JSONValue.string($0) }
        try files.writeOwn(Self.ownName, [JSONMember(name: "paths", value: .array(items))], scratch: scratch)
    }
}

extension Vault {
    /// Notes what `config.json` says of the part of the vault that is held here.
    func note(_ config: CloneConfig) throws(VaultError) {
        let part = try HeldPart(config)
        heldPart.withLock { $0 = part }
    }

    /// What is held here, as the last reading of the clone's state told.
    var part: HeldPart { heldPart.withLock { $0 } }

    /// Reads trees of this clone, only in the folders that it holds.
    func treeReader(_ store: (any ObjectReading)? = nil) -> TreeReader {
        TreeReader(store: store ?? self.store, cipher: cipher, scope: part.scope)
    }

    /// Takes out of what a look found what a sparse clone has not in its working copy on purpose.
    func leaveUnselected(_ changes: inout WorkingChanges) throws {
        guard part.isSparse else { return }
        let selection = try Selection.read(files)
        var kept: [IndexEntry] = []
        for entry in changes.deleted where try isWritten(entry.path, entry.blobID, selection) { kept.append(entry) }
        changes.deleted = kept
        guard !selection.stale.isEmpty else { return }
        let hasher = FileHasher(pool: environment.pool)
        try changes.modified.removeAll { candidate in
            guard let old = selection.stale[candidate.path] else { return false }
            return try hasher.contentHash(of: candidate.path, in: layout.root)?.hash.hex == old
        }
    }

    /// Whether a tracked file was put into the working copy of a sparse clone.
    func isWritten(_ path: VaultPath, _ blob: ObjectID, _ selection: Selection) throws(VaultError) -> Bool {
        if let written = selection.written { return written.contains(path) }
        return try store.holds(blob)
    }

    /// Gives a sparse clone that has none the record of its files, before contents come here that are not for the
    /// working copy.
    func makeCheckoutRecord(_ scratch: ScratchArea) throws {
        guard part.isSparse, try files.readObject(Selection.recordName) == nil else { return }
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let tracked = try trackedFiles(of: state.head, graph: graph, trees: treeReader())
        var written: [VaultPath] = []
        for entry in tracked.entries where try store.holds(entry.blobID) { written.append(entry.path) }
        try writeCheckoutRecord(written, scratch: scratch)
    }

    func writeCheckoutRecord(_ paths: [VaultPath], scratch: ScratchArea) throws(VaultError) {
        let items = paths.sorted().map { JSONValue.string(String(decoding: $0.bytes, as: UTF8.self)) }
        let record = JSONValue.object([
            JSONMember(name: "version", value: .integer(1)), JSONMember(name: "paths", value: .array(items)),
        ])
        try files.write(Selection.recordName, JSONWriter.bytes(record, .compact), scratch: scratch)
    }

    /// Refuses paths outside the folders that this clone holds.
    func requireHeld(_ paths: [VaultPath], _ what: String) throws(VaultError) {
        let scope = part.scope
        guard let path = paths.first(where: { !scope.holds($0) }) else { return }
        throw VaultError(
            .partialClone,
            "\(path) lies outside the folders that this clone holds (\(scope.texts.joined(separator: ", "))); "
                + "\(what)",
            hint: "vaultctl sparse add \(path.parent ?? path)", path: path.description)
    }
}
