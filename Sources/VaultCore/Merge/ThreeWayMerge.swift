internal import VaultFormat

/// Merges two trees over their base, file by file (spec 05 §8).
struct ThreeWayMerge {
    let trees: TreeReader
    /// Take names that differ in case only for conflicts; the reference does not.
    var separatesCases = true

    /// What has to be done to "ours" to hold both sides' changes, and what needs a person.
    struct Result: Sendable {
        var edits: [TreeEditor.Edit] = []
        var conflicts: [MergeConflict] = []
        /// Their files at conflicting paths, under the names they are laid beside ours with.
        var copies: [TreeEditor.Edit] = []
        /// What becomes of entries outside the folders that are held, by their ids.
        var carried: [TreeEditor.Carried] = []
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
            case (let our, let their):
                result.conflicts.append(MergeConflict(path: item.path, base: item.old, ours: our, theirs: their))
            }
        }
        if separatesCases { separateCases(&result, ourSide, theirSide) }
        try separateClashes(&result, ours: ours)
        if !trees.scope.isWhole {
            result.carried = try OutsideMerge(trees: trees).merge(base: base, ours: ours, theirs: theirs)
        }
        return result
    }

    /// Finds paths that differ in case only, of which each side added one.
    ///
    /// A file system that folds case holds one of them. Ours stays and theirs is laid beside it; either, or both, can be
    /// chosen.
    private func separateCases(
        _ result: inout Result, _ ourSide: [TreeDifference], _ theirSide: [TreeDifference]
    ) {
        func isAdded(_ item: TreeDifference) -> Bool { item.old == nil && item.new != nil }
        let theirs = Set(theirSide.filter(isAdded).map(\.path))
        guard !theirs.isEmpty else { return }
        var ours: [[UInt8]: [TreeDifference]] = [:]
        // What both added under the very same name is no matter of case.
        for item in ourSide where isAdded(item) && !theirs.contains(item.path) {
            ours[item.path.caseFolded, default: []].append(item)
        }
        guard !ours.isEmpty else { return }
        var conflicts: [VaultPath: MergeConflict] = [:]
        for edit in result.edits where theirs.contains(edit.path) {
            guard let entry = edit.entry, let others = ours[edit.path.caseFolded] else { continue }
            conflicts[edit.path] = MergeConflict(path: edit.path, base: nil, ours: nil, theirs: entry)
            for other in others {
                conflicts[other.path] = MergeConflict(path: other.path, base: nil, ours: other.new, theirs: nil)
            }
        }
        result.edits.removeAll { conflicts[$0.path] != nil }
        result.conflicts += conflicts.values
    }

    /// Finds the paths at which one side has a file and the other a folder (spec 05 K7), and keeps ours there: their
    /// files become copies.
    private func separateClashes(_ result: inout Result, ours: ObjectID) throws(VaultError) {
        let removed = Set(result.edits.filter { $0.entry == nil }.map(\.path))
        var conflicts: [VaultPath: MergeConflict] = [:]
        for conflict in result.conflicts { conflicts[conflict.path] = conflict }
        var copies: [TreeEditor.Edit] = []
        var kept: [TreeEditor.Edit] = []
        var blocked: [VaultPath: VaultPath?] = [:]
        for edit in result.edits {
            guard let entry = edit.entry else {
                kept.append(edit)
                continue
            }
            if let file = try blockingFile(above: edit.path, ours, removed, &blocked) {
                copies.append(TreeEditor.Edit(path: edit.path.copied(for: file), entry: entry))
                var conflict = conflicts[file]
                if conflict == nil {
                    conflict = MergeConflict(
                        path: file, base: nil, ours: try trees.entry(file, in: ours)?.file, theirs: nil)
                }
                conflict?.isFileAndFolder = true
                conflicts[file] = conflict
                continue
            }
            if try isFolderThatStays(edit.path, ours, removed) {
                copies.append(TreeEditor.Edit(path: edit.path.copied(for: edit.path), entry: entry))
                var conflict = MergeConflict(path: edit.path, base: nil, ours: nil, theirs: entry)
                conflict.isFileAndFolder = true
                conflicts[edit.path] = conflict
                continue
            }
            kept.append(edit)
        }
        for conflict in conflicts.values where !conflict.isFileAndFolder {
            guard let entry = conflict.theirs else { continue }
            copies.append(TreeEditor.Edit(path: conflict.path.copied(for: conflict.path), entry: entry))
        }
        result.edits = kept
        result.copies = copies.sorted { $0.path < $1.path }
        result.conflicts = conflicts.values.sorted { $0.path < $1.path }
    }

    /// The file of ours that stands where a folder above a path would have to be.
    private func blockingFile(
        above path: VaultPath, _ ours: ObjectID, _ removed: Set<VaultPath>, _ known: inout [VaultPath: VaultPath?]
    ) throws(VaultError) -> VaultPath? {
        guard let folder = path.parent else { return nil }
        if let found = known[folder] { return found }
        var result = try blockingFile(above: folder, ours, removed, &known)
        if result == nil, !removed.contains(folder), case .file? = try trees.entry(folder, in: ours) { result = folder }
        known[folder] = .some(result)
        return result
    }

    /// Whether ours has a folder at a path of which something is left.
    private func isFolderThatStays(
        _ path: VaultPath, _ ours: ObjectID, _ removed: Set<VaultPath>
    ) throws(VaultError) -> Bool {
        guard case .folder(let id)? = try trees.entry(path, in: ours) else { return false }
        return try trees.files(id, in: path).contains { !removed.contains($0.path) }
    }
}

/// A path that two sides of a merge changed so that a person has to choose.
struct MergeConflict: Sendable, Equatable {
    var path: VaultPath
    /// The file before both sides changed it; nil where there was none.
    var base: FileEntry?
    /// The file of this clone's side; nil where it is gone, or a folder.
    var ours: FileEntry?
    /// The file of the other side; nil where it is gone, or a folder.
    var theirs: FileEntry?
    /// One side has a file and the other a folder at the path.
    var isFileAndFolder = false

    init(path: VaultPath, base: FileEntry?, ours: FileEntry?, theirs: FileEntry?) {
        self.path = path
        self.base = base
        self.ours = ours
        self.theirs = theirs
    }
}

extension VaultPath {
    /// What a file system that folds case takes the path for.
    fileprivate var caseFolded: [UInt8] { Array(String(decoding: bytes, as: UTF8.self).lowercased().utf8) }

    /// The path of something below this one.
    func joined(_ relative: VaultPath) -> VaultPath {
        VaultPath(unchecked: bytes + [UInt8(ascii: "/")] + relative.bytes)
    }

    /// The path of a direct child whose name was checked already.
    func child(_ name: [UInt8]) -> VaultPath {
        VaultPath(unchecked: bytes + [UInt8(ascii: "/")] + name)
    }

    /// The path under which the other side's file at this path, or below it, is laid beside a conflicting one of ours
    /// (spec 03 §2.4).
    func copied(for conflict: VaultPath) -> VaultPath {
        VaultPath(unchecked: conflict.bytes + ".conflict".bytes + bytes.dropFirst(conflict.bytes.count))
    }
}
