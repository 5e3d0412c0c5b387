internal import VaultFormat

/// Merges two trees over their base, file by file (spec 05 §8).
struct ThreeWayMerge {
    let trees: TreeReader

    /// What has to be done to "ours" to hold both sides' changes, and the paths that need a person.
    struct Result: Sendable, Equatable {
        var edits: [TreeEditor.Edit] = []
        var conflicts: [VaultPath] = []

        static func == (left: Result, right: Result) -> Bool {
            left.conflicts == right.conflicts && left.edits.map(\.path) == right.edits.map(\.path)
                && left.edits.map(\.entry) == right.edits.map(\.entry)
        }
    }

    /// Compares both sides with the base.
    ///
    /// Content added on both sides alike is no conflict; theirs is taken then, because it is on the server already.
    func merge(base: ObjectID?, ours: ObjectID, theirs: ObjectID) throws(VaultError) -> Result {
        let diff = TreeDiff(trees: trees)
        let ourSide = try diff.files(base, ours)
        let theirSide = try diff.files(base, theirs)
        var result = Result()
        var position = 0
        for item in theirSide {
            while position < ourSide.count && ourSide[position].path < item.path { position += 1 }
            guard position < ourSide.count, ourSide[position].path == item.path else {
                result.edits.append(TreeEditor.Edit(path: item.path, entry: item.new))
                continue
            }
            switch (ourSide[position].new, item.new) {
            case (nil, nil): break
            case (let our?, let their?) where our.holdsSameContent(as: their):
                if our.blobID != their.blobID {
                    result.edits.append(TreeEditor.Edit(path: item.path, entry: their))
                }
            // Changed and changed back: the content is the base's again, so the other side's change is the only one.
            case _ where ourSide[position].isSameContent:
                result.edits.append(TreeEditor.Edit(path: item.path, entry: item.new))
            case _ where item.isSameContent: break
            default: result.conflicts.append(item.path)
            }
        }
        result.conflicts += try clashes(result.edits, in: ours)
        result.conflicts = Array(Set(result.conflicts)).sorted()
        return result
    }

    /// Paths at which one side has a file and the other a folder (spec 05 K7).
    private func clashes(_ edits: [TreeEditor.Edit], in ours: ObjectID) throws(VaultError) -> [VaultPath] {
        let removed = Set(edits.filter { $0.entry == nil }.map(\.path))
        var found: [VaultPath] = []
        var checkedFolders: Set<VaultPath> = []
        for edit in edits where edit.entry != nil {
            var parent = edit.path.parent
            while let folder = parent, checkedFolders.insert(folder).inserted {
                if case .file? = try trees.entry(folder, in: ours), !removed.contains(folder) { found.append(folder) }
                parent = folder.parent
            }
            guard case .folder(let id)? = try trees.entry(edit.path, in: ours) else { continue }
            for file in try trees.files(id) where !removed.contains(edit.path.joined(file.path)) {
                found.append(edit.path)
                break
            }
        }
        return found
    }
}

extension VaultPath {
    /// The path of something below this one.
    func joined(_ relative: VaultPath) -> VaultPath {
        VaultPath(unchecked: bytes + [UInt8(ascii: "/")] + relative.bytes)
    }

    /// The path of a direct child whose name was checked already.
    func child(_ name: [UInt8]) -> VaultPath {
        VaultPath(unchecked: bytes + [UInt8(ascii: "/")] + name)
    }
}
