internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A file as a commit records it.
struct TrackedFile: Sendable, Equatable {
    var path: VaultPath
    var entry: FileEntry
}

/// Reads tree objects, checked and decoded, and flattens them.
final class TreeReader: Sendable {
    private let store: any ObjectReading
    private let cipher: VaultCipher
    private let cache = Locked<[ObjectID: TreeObject]>([:])
    /// The folders that are walked into, and whose files are given.
    let scope: Scope
    private static let cachedTrees = 4096
    /// Where the names of large folders stand in them, so that looking up all of them takes time in proportion.
    private let indexes = Locked((byTree: [ObjectID: [[UInt8]: Int]](), names: 0))
    /// Folders of no more entries are searched one by one.
    private static let fewEntries = 16
    /// So many names are indexed at a time.
    private static let indexedNames = 1 << 18

    init(store: any ObjectReading, cipher: VaultCipher, scope: Scope = .whole) {
        self.store = store
        self.cipher = cipher
        self.scope = scope
    }

    func tree(_ id: ObjectID) throws(VaultError) -> TreeObject {
        if let known = cache.withLock({ $0[id] }) { return known }
        let object = try store.read(id, limit: Limits.treeCiphertext)
        let tree = try Self.decode(object, cipher: cipher)
        cache.withLock {
            if $0.count >= Self.cachedTrees { $0.removeAll(keepingCapacity: true) }
            $0[id] = tree
        }
        return tree
    }

    static func decode(_ object: VerifiedObject, cipher: VaultCipher) throws(VaultError) -> TreeObject {
        try decoding("tree \(object.id.text)", object: object.id.text) { () throws(FormatError) in
            let plaintext = try cipher.open(object.bytes.span, limit: Limits.treeCiphertext)
            return try TreeObject.decode(plaintext.span, cipher: cipher)
        }
    }

    /// All files of a tree that are in the scope, sorted by the bytes of their paths.
    ///
    /// * `folder`: Where the tree stands; the paths begin there. Nil means it is a root.
    /// - Throws: `unsafePath` when an entry's name can not stand in a working copy, `objectCorrupt` when folders
    ///   nest deeper than the format's limit here.
    func files(_ root: ObjectID, in folder: VaultPath? = nil) throws(VaultError) -> [TrackedFile] {
        var files: [TrackedFile] = []
        try walk(root, in: folder) { path, target throws(VaultError) in
            if case .file(let entry) = target, scope.holds(path) { files.append(TrackedFile(path: path, entry: entry)) }
            return true
        }
        // Files before folders in every tree, so the order of the walk is not that of whole paths.
        files.sort { $0.path < $1.path }
        return files
    }

    /// Calls `visit` for every file and folder, with its full path; false keeps it out of a folder, as do the limits of
    /// the scope.
    ///
    /// * `folder`: Where the tree stands; nil means it is a root.
    func walk(
        _ root: ObjectID, in folder: VaultPath? = nil,
        _ visit: (VaultPath, TreeEntry.Target) throws(VaultError) -> Bool
    ) throws(VaultError) {
        var pending: [(id: ObjectID, prefix: VaultPath?, depth: Int)] = [(root, folder, 0)]
        var paths = 0
        while let next = pending.popLast() {
            guard next.depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels",
                    object: root.text)
            }
            for entry in try tree(next.id).entries {
                paths += 1
                guard paths <= Limits.treePaths else { throw Self.tooMany(root) }
                let path = try Self.path(next.prefix, entry.name, isFolder: entry.target.folder != nil)
                guard try visit(path, entry.target), case .folder(let id) = entry.target, scope.enters(path) else {
                    continue
                }
                pending.append((id, path, next.depth + 1))
            }
        }
    }

    static func tooMany(_ root: ObjectID) -> VaultError {
        VaultError(
            .objectCorrupt, "the tree \(root.text) has more than \(Limits.treePaths) files and folders",
            object: root.text)
    }

    /// Joins a folder's path and an entry's name, which must be one safe segment.
    ///
    /// Only whole paths must not be blank (spec 03 §8): a folder may have a blank name, what is in it has none.
    static func path(
        _ prefix: VaultPath?, _ name: [UInt8], isFolder: Bool
    ) throws(VaultError) -> VaultPath {
        do throws(FormatError) {
            guard !name.contains(UInt8(ascii: "/")) else {
                throw FormatError.unsafePath("a name in a tree holds a slash")
            }
            guard let prefix else {
                if isFolder {
                    let inside = name + [UInt8(ascii: "/"), UInt8(ascii: "x")]
                    guard !name.isEmpty, try VaultPath(inside).bytes == inside else {
                        throw FormatError.unsafePath("a name in a tree is empty or '.'")
                    }
                    return VaultPath(unchecked: name)
                }
                let path = try VaultPath(name)
                guard path.bytes == name else { throw FormatError.unsafePath("a name in a tree is '.'") }
                return path
            }
            return try prefix.appending(name)
        } catch {
            throw VaultError(
                .unsafePath, "the vault holds the unsafe name \(PathQuoting.text(name)): \(error.detail)",
                path: PathQuoting.text(name), cause: error)
        }
    }

    /// What stands at a path: a file, a folder, or nothing.
    func entry(_ path: VaultPath, in root: ObjectID) throws(VaultError) -> TreeEntry.Target? {
        var current = root
        let segments = path.segments
        for (position, segment) in segments.enumerated() {
            guard let target = try target(segment, in: current) else { return nil }
            if position == segments.count - 1 { return target }
            guard case .folder(let id) = target else { return nil }
            current = id
        }
        return nil
    }

    /// What a folder has under a name; the last, where a broken writer gave a name twice.
    private func target(_ name: [UInt8], in id: ObjectID) throws(VaultError) -> TreeEntry.Target? {
        let tree = try tree(id)
        guard tree.entries.count > Self.fewEntries else { return tree.entries.last { $0.name == name }?.target }
        let known = indexes.withLock { (indexes) -> (isIndexed: Bool, position: Int?) in
            indexes.byTree[id].map { (true, $0[name]) } ?? (false, nil)
        }
        if known.isIndexed { return known.position.map { tree.entries[$0].target } }
        var index: [[UInt8]: Int] = Dictionary(minimumCapacity: tree.entries.count)
        for (position, entry) in tree.entries.enumerated() { index[entry.name] = position }
        indexes.withLock { indexes in
            if indexes.names + tree.entries.count > Self.indexedNames {
                indexes.byTree.removeAll(keepingCapacity: true)
                indexes.names = 0
            }
            indexes.byTree[id] = index
            indexes.names += tree.entries.count
        }
        return index[name].map { tree.entries[$0].target }
    }
}

extension VaultPath {
    /// Whether this path is `other` or lies below it.
    func isAtOrBelow(_ other: VaultPath) -> Bool {
        self == other
            || (bytes.count > other.bytes.count && bytes[other.bytes.count] == UInt8(ascii: "/")
                && bytes.starts(with: other.bytes))
    }

    /// Whether this path is one of a set or lies below one of them.
    func isAtOrBelow(oneOf others: Set<VaultPath>) -> Bool {
        var place: VaultPath? = self
        while let path = place {
            if others.contains(path) { return true }
            place = path.parent
        }
        return false
    }

    /// Whether one of the two is at or below the other.
    func overlaps(_ other: VaultPath) -> Bool {
        isAtOrBelow(other) || other.isAtOrBelow(self)
    }
}
