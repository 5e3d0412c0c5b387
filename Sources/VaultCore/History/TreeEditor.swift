internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Makes a new root tree from an old one and a list of changes.
///
/// Only folders that hold a change are read and rebuilt; all others keep their ids (spec 02 §4, 05 §5.3).
struct TreeEditor {
    /// One path and what it becomes; nil removes the file.
    struct Edit: Sendable {
        var path: VaultPath
        var entry: FileEntry?
    }

    /// An entry that takes another's place whole, a folder by its id.
    struct Carried: Sendable {
        var path: VaultPath
        /// Nil removes it.
        var target: TreeEntry.Target?
    }

    private enum Change {
        case file(FileEntry?)
        case whole(TreeEntry.Target?)
    }

    let trees: TreeReader
    let cipher: VaultCipher
    let batch: ObjectBatch
    /// From so many edits on the folders are rebuilt on all cores.
    private static let manyEdits = 512

    /// Applies edits, each path once, to the tree `base` (nil: the empty tree).
    ///
    /// * `carried`: Entries that are replaced whole; no edit lies at or below one.
    /// - Returns: The id of the root, staged in the batch when it is new. An empty vault has an empty root tree.
    func apply(_ edits: [Edit], carrying carried: [Carried] = [], to base: ObjectID?) throws -> ObjectID {
        if let deep = edits.first(where: { $0.path.segments.count > Limits.editDepth }) {
            throw VaultError(
                .refused, "a path of more than \(Limits.editDepth) folders is not written",
                path: deep.path.description)
        }
        // What is in a folder comes together, also where a sibling's name goes on with a byte below the slash.
        let changes =
            edits.map { (path: $0.path, change: Change.file($0.entry)) }
            + carried.map { (path: $0.path, change: Change.whole($0.target)) }
        let split = Self.inOrder(changes).map { (segments: $0.path.segments, change: $0.change) }
        if let root = try rebuild(base, split[...], depth: 0, spreads: split.count >= Self.manyEdits) { return root }
        return try store(TreeObject(entries: []))
    }

    private typealias Placed = (path: VaultPath, change: Change)

    private static func inOrder(_ edits: [Placed]) -> [Placed] {
        func precedes(_ left: Placed, _ right: Placed) -> Bool {
            left.path.bytes.lexicographicallyPrecedes(right.path.bytes) { (left, right) in
                (left == UInt8(ascii: "/") ? 0 : left) < (right == UInt8(ascii: "/") ? 0 : right)
            }
        }
        let isSorted = zip(edits, edits.dropFirst()).allSatisfy { !precedes($1, $0) }
        return isSorted ? edits : edits.sorted(by: precedes)
    }

    private typealias Split = (segments: [[UInt8]], change: Change)

    /// Rebuilds one folder; nil when nothing is left in it.
    ///
    /// * `spreads`: Its folders are rebuilt on several threads at once.
    private func rebuild(
        _ old: ObjectID?, _ edits: ArraySlice<Split>, depth: Int, spreads: Bool
    ) throws -> ObjectID? {
        let oldTree = try old.map { (id) throws(VaultError) in try trees.tree(id) } ?? TreeObject(entries: [])
        let before = Dictionary(oldTree.entries.map { ($0.name, $0.target) }) { _, last in last }
        let groups = Self.groups(edits, depth: depth)
        let results = try children(before, groups, depth: depth, spreads: spreads)
        var after: [TreeEntry] = []
        after.reserveCapacity(groups.count + before.count)
        var rest = before
        var changed = false
        for (group, target) in zip(groups, results) {
            let name = group.name
            if rest.removeValue(forKey: name) != target { changed = true }
            if let target { after.append(TreeEntry(name: name, target: target)) }
        }
        if !changed, let old { return old }
        after += rest.map { TreeEntry(name: $0.key, target: $0.value) }
        if after.isEmpty { return nil }
        for index in after.indices { after[index].target = Self.complete(after[index].target, after[index].name) }
        return try store(TreeObject(entries: after))
    }

    /// The edits of one folder by the names in it.
    private static func groups(
        _ edits: ArraySlice<Split>, depth: Int
    ) -> [(name: [UInt8], edits: ArraySlice<Split>)] {
        var groups: [(name: [UInt8], edits: ArraySlice<Split>)] = []
        var rest = edits
        while let first = rest.first {
            let name = first.segments[depth]
            let end = rest.firstIndex { $0.segments[depth] != name } ?? rest.endIndex
            groups.append((name, rest[..<end]))
            rest = rest[end...]
        }
        return groups
    }

    /// What becomes of each name that has edits.
    private func children(
        _ before: [[UInt8]: TreeEntry.Target], _ groups: [(name: [UInt8], edits: ArraySlice<Split>)], depth: Int,
        spreads: Bool
    ) throws -> [TreeEntry.Target?] {
        guard spreads, groups.count > 1 else {
            return try groups.map { try child(before[$0.name], $0.edits, depth: depth, spreads: spreads) }
        }
        return try batch.pool.map(count: groups.count) { index in
            try child(before[groups[index].name], groups[index].edits, depth: depth, spreads: false)
        }
    }

    /// What one name becomes: a file, a folder, or nothing.
    ///
    /// A file and files below the same name can not both be.
    private func child(
        _ old: TreeEntry.Target?, _ group: ArraySlice<Split>, depth: Int, spreads: Bool
    ) throws -> TreeEntry.Target? {
        var file: FileEntry?
        if case .file(let entry)? = old { file = entry }
        var folder: ObjectID?
        if case .folder(let id)? = old { folder = id }
        var deeper: [Split] = []
        for edit in group {
            guard edit.segments.count == depth + 1 else {
                deeper.append(edit)
                continue
            }
            switch edit.change {
            case .file(let entry): file = entry
            case .whole(let target): (file, folder) = (target?.file, target?.folder)
            }
        }
        if !deeper.isEmpty { folder = try rebuild(folder, deeper[...], depth: depth + 1, spreads: spreads) }
        switch (file, folder) {
        case (nil, nil): return nil
        case (let entry?, nil): return .file(entry)
        case (nil, let id?): return .folder(id)
        case (.some, .some):
            let name = PathQuoting.text(
                Array((group.first?.segments ?? []).prefix(depth + 1).joined(separator: [0x2F])))
            throw VaultError(
                .refused, "\(name) can not be a file and a folder at once",
                hint: "remove the one, then write the other",
                path: name)
        }
    }

    /// Fills in the content type of entries written before there was one (spec 02 §4).
    private static func complete(_ target: TreeEntry.Target, _ name: [UInt8]) -> TreeEntry.Target {
        guard case .file(var entry) = target, entry.contentType.isEmpty else { return target }
        entry.contentType = ContentType.guess(name: name)
        return .file(entry)
    }

    private func store(_ tree: TreeObject) throws(VaultError) -> ObjectID {
        let sealed = try decoding("encrypting a tree") { () throws(FormatError) in
            let plaintext = try tree.encode(cipher: cipher)
            return try cipher.sealDeterministic(plaintext.span)
        }
        return try batch.add(sealed)
    }
}
