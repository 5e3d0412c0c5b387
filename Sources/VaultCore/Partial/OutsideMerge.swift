internal import VaultFormat

/// Merges what lies outside the folders that a clone holds, whole entries at a time: of such a folder only the id is
/// known, so the side that changed it is taken, and where both did a person needs more of the vault.
struct OutsideMerge {
    let trees: TreeReader

    private struct Place {
        var base: ObjectID?
        var ours: ObjectID?
        var theirs: ObjectID?
        var path: VaultPath?
    }

    /// What has to become of entries of ours.
    ///
    /// - Throws: `partialClone` where both sides changed an entry differently.
    func merge(base: ObjectID?, ours: ObjectID, theirs: ObjectID) throws(VaultError) -> [TreeEditor.Carried] {
        var result: [TreeEditor.Carried] = []
        var pending = [Place(base: base, ours: ours, theirs: theirs)]
        while let next = pending.popLast() {
            let (before, left, right) = (
                try entries(next.base), try entries(next.ours), try entries(next.theirs)
            )
            for name in Set(left.keys).union(right.keys) {
                let (old, our, their) = (before[name], left[name], right[name])
                guard our != their else { continue }
                let isFolder = our?.file == nil && their?.file == nil
                let path = try TreeReader.path(next.path, name, isFolder: isFolder)
                if trees.scope.holds(path) { continue }
                if isFolder, trees.scope.enters(path) {
                    pending.append(
                        Place(base: old?.folder, ours: our?.folder, theirs: their?.folder, path: path))
                } else if isSame(our, their) || isSame(old, our), !trees.scope.enters(path) {
                    result.append(TreeEditor.Carried(path: path, target: their))
                } else if !isSame(old, their) {
                    throw VaultError(
                        .partialClone,
                        "both sides changed \(path), which lies outside the folders that this clone holds; "
                            + "nothing was changed",
                        hint: "vaultctl sparse add \(path)", path: path.description)
                }
            }
        }
        return result.sorted { $0.path < $1.path }
    }

    private func isSame(_ left: TreeEntry.Target?, _ right: TreeEntry.Target?) -> Bool {
        if left == right { return true }
        guard let left = left?.file, let right = right?.file else { return false }
        return left.holdsSameContent(as: right)
    }

    private func entries(_ id: ObjectID?) throws(VaultError) -> [[UInt8]: TreeEntry.Target] {
        guard let id else { return [:] }
        var result: [[UInt8]: TreeEntry.Target] = [:]
        for entry in try trees.tree(id).entries { result[entry.name] = entry.target }
        return result
    }
}
