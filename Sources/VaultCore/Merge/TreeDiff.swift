internal import VaultFormat

/// One path that differs between two trees.
struct TreeDifference: Sendable, Equatable {
    var path: VaultPath
    var old: FileEntry?
    var new: FileEntry?

    /// Whether both sides hold the same content under different blobs.
    var isSameContent: Bool {
        guard let old, let new else { return false }
        return old.holdsSameContent(as: new)
    }
}

extension FileEntry {
    /// Equal content by blob id, or by content hash and size: the same bytes stored twice have two blob ids
    /// (spec 05 §8).
    func holdsSameContent(as other: FileEntry) -> Bool {
        blobID == other.blobID || (contentHash != nil && contentHash == other.contentHash && size == other.size)
    }
}

/// Compares trees, looking only into folders whose ids differ, and only at what is in the reader's scope.
struct TreeDiff {
    let trees: TreeReader

    /// The files that differ by blob id, sorted by path.
    ///
    /// * `old`: The tree before; nil means the empty tree.
    /// * `new`: The tree after; nil means the empty tree.
    func files(_ old: ObjectID?, _ new: ObjectID?) throws(VaultError) -> [TreeDifference] {
        var result: [TreeDifference] = []
        var pending: [(old: ObjectID?, new: ObjectID?, prefix: VaultPath?, depth: Int)] = [(old, new, nil, 0)]
        var paths = 0
        while let next = pending.popLast() {
            if next.old == next.new { continue }
            guard next.depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels")
            }
            let before = try byName(next.old)
            let after = try byName(next.new)
            for name in Set(before.keys).union(after.keys) {
                let (left, right) = (before[name], after[name])
                if left == right { continue }
                paths += 1
                if paths > Limits.treePaths, let root = new ?? old { throw TreeReader.tooMany(root) }
                let isFile = left?.file != nil || right?.file != nil
                let path = try TreeReader.path(next.prefix, name, isFolder: !isFile)
                if isFile, trees.scope.holds(path) {
                    result.append(TreeDifference(path: path, old: left?.file, new: right?.file))
                }
                if left?.folder != nil || right?.folder != nil, trees.scope.enters(path) {
                    pending.append((left?.folder, right?.folder, path, next.depth + 1))
                }
            }
        }
        // Entries that differ in nothing but their recorded type or flags are the same file.
        result.removeAll { $0.old?.blobID == $0.new?.blobID }
        result.sort { $0.path < $1.path }
        return result
    }

    private func byName(_ id: ObjectID?) throws(VaultError) -> [[UInt8]: TreeEntry.Target] {
        guard let id else { return [:] }
        var result: [[UInt8]: TreeEntry.Target] = [:]
        for entry in try trees.tree(id).entries { result[entry.name] = entry.target }
        return result
    }

    /// The differences as a list of paths by kind.
    static func changes(_ differences: [TreeDifference]) -> Changes {
        var changes = Changes()
        for item in differences {
            switch (item.old, item.new) {
            case (nil, .some): changes.added.append(item.path)
            case (.some, nil): changes.deleted.append(item.path)
            default: changes.modified.append(item.path)
            }
        }
        return changes
    }
}

extension TreeEntry.Target {
    var file: FileEntry? {
        if case .file(let entry) = self { entry } else { nil }
    }

    var folder: ObjectID? {
        if case .folder(let id) = self { id } else { nil }
    }
}
