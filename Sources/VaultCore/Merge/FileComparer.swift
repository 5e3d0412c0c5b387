internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Compares the files of two states of a vault, one after the other.
///
/// Keeps what it read of history and folders, so that many comparisons of one command share it.
final class FileComparer: Sendable {
    private let vault: Vault
    private let graph: CommitGraph
    private let trees: TreeReader

    init(vault: Vault, graph: CommitGraph, trees: TreeReader) {
        self.vault = vault
        self.graph = graph
        self.trees = trees
    }

    /// The files that differ between two trees, sorted by path, renamed ones paired.
    func items(_ old: ObjectID?, _ new: ObjectID?, below paths: [VaultPath]) throws -> [DiffItem] {
        let items = try TreeDiff(trees: trees).files(old, new).compactMap { item -> DiffItem? in
            guard !item.isSameContent, item.path.isWanted(paths) else { return nil }
            return DiffItem(path: item.path, old: item.old.map { .blob($0) }, new: item.new.map { .blob($0) })
        }
        return try paired(items)
    }

    /// What a commit changed against its first parent, as far as that is held.
    func items(of id: ObjectID, below paths: [VaultPath]) throws -> [DiffItem] {
        try items(parentTree(of: id), graph.tree(of: id), below: paths)
    }

    /// The first parent, and nil where there is none or it was not fetched.
    func heldParent(of id: ObjectID) throws -> ObjectID? {
        guard let parent = try graph.commit(id).parents.first, try vault.store.holds(parent) else { return nil }
        return parent
    }

    private func parentTree(of id: ObjectID) throws -> ObjectID? {
        try heldParent(of: id).map { try graph.tree(of: $0) }
    }

    /// Pairs renamed files; files of the working copy are read where they may be one.
    func paired(_ items: [DiffItem]) throws -> [DiffItem] {
        try RenamePairing { path in try self.hashOfFile(path) }.pair(items)
    }

    /// The content hash of a file of the working copy; nil when no regular file stands there.
    func hashOfFile(_ path: VaultPath) throws -> ContentHash? {
        do {
            return try FileHasher(pool: vault.environment.pool).contentHash(of: path, in: vault.layout.root)?.hash
        } catch let error as Errno {
            switch error {
            case .noSuchFile, .notADirectory, .tooManyLinks: return nil
            default: throw VaultError.io(error, "cannot read \(path)", path: path.description)
            }
        }
    }

    /// Gives the differences one after the other until `body` returns false.
    func compare(
        _ items: [DiffItem], _ options: DiffOptions, _ body: (FileDiff) throws -> Bool
    ) throws {
        let loader = ContentLoader(
            blobs: BlobReader(store: vault.store, cipher: vault.cipher), root: vault.layout.root,
            pool: vault.environment.pool, limit: options.textLimit)
        if options.detail != .names { try require(items) }
        for item in items {
            if options.detail == .names {
                guard try body(Self.named(item)) else { return }
                continue
            }
            for found in try compare(item, options, loader) {
                guard try body(found) else { return }
            }
        }
    }

    /// In a clone that holds a part, asks for all contents at once before the first is given.
    func require(_ items: [DiffItem]) throws(VaultError) {
        guard vault.part.isPartial else { return }
        try vault.store.require(
            items.lazy.flatMap { item in
                [item.old?.entry, item.new?.entry].compactMap { $0 }.map { (path: item.path, entry: $0) }
            })
    }

    private static func named(_ item: DiffItem) -> FileDiff {
        FileDiff(
            path: item.path, oldPath: item.oldPath, status: item.status,
            before: item.old.map { FileDiff.Side(size: $0.size) }, after: item.new.map { FileDiff.Side(size: $0.size) },
            content: .notRead)
    }

    /// One difference; two when files that were taken for renamed have other content after all, none when files of the
    /// working copy turn out to be equal or are not there any more.
    private func compare(_ item: DiffItem, _ options: DiffOptions, _ loader: ContentLoader) throws -> [FileDiff] {
        let old = try item.old.flatMap { try loader.load($0, at: item.oldPath ?? item.path) }
        let isSameBlob = item.old?.entry != nil && item.old?.entry?.blobID == item.new?.entry?.blobID
        let new = try isSameBlob ? old : item.new.flatMap { try loader.load($0, at: item.path) }
        guard old != nil || new != nil else { return [] }
        if item.oldPath != nil, let old, new.map({ $0.digest != old.digest }) ?? true {
            return try [
                DiffItem(path: item.oldPath ?? item.path, old: item.old), DiffItem(path: item.path, new: item.new),
            ].flatMap { try compare($0, options, loader) }
        }
        if item.oldPath == nil, old != nil, old?.digest == new?.digest { return [] }
        let status: FileDiff.Status = old == nil ? .added : new == nil ? .deleted : item.status
        return [
            FileDiff(
                path: item.path, oldPath: item.oldPath, status: status, before: old?.side, after: new?.side,
                content: Self.content(old, new, options))
        ]
    }

    private static func content(
        _ old: LoadedContent?, _ new: LoadedContent?, _ options: DiffOptions
    ) -> FileDiff.Content {
        let (left, right) = (old ?? LoadedContent(), new ?? LoadedContent())
        if left.isBinary || right.isBinary { return .binary }
        if old?.digest == new?.digest { return .text([]) }
        guard let before = left.bytes, let after = right.bytes,
            let hunks = UnifiedDiff.hunks(before, after, context: options.context)
        else { return .tooLarge }
        return .text(hunks)
    }
}

extension VaultPath {
    /// Whether the path is at or below one of some paths; without any, every path is.
    func isWanted(_ paths: [VaultPath]) -> Bool {
        paths.isEmpty || paths.contains { isAtOrBelow($0) }
    }
}
