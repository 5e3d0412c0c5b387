internal import VaultFormat
internal import VaultSystem

/// Files that stay on disk and are left out of commits: the record of `rm --cached`, in `local/vaultctl/left-out.json`.
///
/// There is no staging area to take a file out of, so the record stands beside the clone until a commit names the file.
/// That a file is to be dropped is for one branch. That it is not tracked holds wherever no commit has it: another branch
/// may track it, and one that does not, such as one made from here, leaves it out as this one does.
struct LeftOut: Sendable, Equatable {
    /// The branch's ref.
    var ref: RefID
    /// Tracked paths that the next commit drops.
    var pending: Set<VaultPath> = []
    /// Paths that are not tracked any more, whatever the branch.
    ///
    /// Kept apart: when somebody else commits the file again it is not dropped a second time.
    var untracked: Set<VaultPath> = []

    private static let name = "left-out.json"

    func contains(_ path: VaultPath) -> Bool { pending.contains(path) || untracked.contains(path) }

    static func read(_ files: LocalFiles, for ref: RefID) throws(VaultError) -> LeftOut {
        var result = LeftOut(ref: ref)
        guard let record = try files.readOwn(name) else { return result }
        func paths(_ list: JSONValue?) -> [VaultPath] {
            (list?.items ?? []).compactMap { item in
                item.text.flatMap { Base64.decode(Array($0.utf8).span) }.flatMap { try? VaultPath($0) }
            }
        }
        result.pending = Set(paths(record["branches"]?[name: ref.text]?["pending"]))
        result.untracked = Set(paths(record["untracked"]))
        // Earlier versions kept these by branch as well.
        for branch in record["branches"]?.members ?? [] {
            result.untracked.formUnion(paths(branch.value["untracked"]))
        }
        return result
    }

    func write(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        let old = try files.readOwn(Self.name)?["branches"]?.members ?? []
        var branches: [JSONMember] = []
        for branch in old where branch.name != ref.text {
            guard let pending = branch.value["pending"], pending.items?.isEmpty == false else { continue }
            branches.append(JSONMember(name: branch.name, value: .record(["pending": pending])))
        }
        func list(_ paths: Set<VaultPath>) -> JSONValue {
            .array(paths.sorted().map { .string(Base64.text($0.bytes.span)) })
        }
        if !pending.isEmpty {
            branches.append(JSONMember(name: ref.text, value: .record(["pending": list(pending)])))
        }
        guard !branches.isEmpty || !untracked.isEmpty else { return try files.removeOwn(Self.name) }
        try files.writeOwn(
            Self.name,
            [
                JSONMember(name: "branches", value: .object(branches)),
                JSONMember(name: "untracked", value: list(untracked)),
            ], scratch: scratch)
    }

    /// Makes what a look found what a commit records: tracked paths count as deleted, others as not there.
    ///
    /// * `chosen`: Paths that a commit names; a file that is named itself is taken in again.
    /// - Returns: The untracked files that were left out.
    @discardableResult
    func apply(to changes: inout WorkingChanges, taking chosen: [VaultPath]) -> [VaultPath] {
        guard !pending.isEmpty || !untracked.isEmpty else { return [] }
        let left = Set(changes.added.map(\.path)).filter { contains($0) && !chosen.contains($0) }
        changes.added.removeAll { left.contains($0.path) }
        let gone = Set(changes.deleted.map(\.path))
        changes.modified.removeAll { pending.contains($0.path) }
        for path in pending.sorted() where !gone.contains(path) {
            let (position, isTracked) = changes.cache.position(of: path.bytes)
            if isTracked { changes.deleted.append(changes.cache.entries[position]) }
        }
        changes.deleted.sort { $0.path < $1.path }
        return left.sorted()
    }

    /// Brings the record up to date after a commit.
    ///
    /// A file that is not on disk any more is forgotten: one that is made under its name later is another file.
    ///
    /// * `before`: What was tracked before the commit.
    func committed(
        _ changes: Changes, before: StatCache, in vault: Vault, scratch: ScratchArea
    ) throws(VaultError) {
        guard !pending.isEmpty || !untracked.isEmpty else { return }
        var next = self
        // What is not tracked any more, for whatever reason, is never dropped again when somebody commits it anew.
        let dropped = pending.intersection(changes.deleted).union(
            pending.filter { !before.position(of: $0.bytes).found })
        next.pending.subtract(dropped)
        next.untracked.formUnion(dropped)
        next.untracked.subtract(changes.added)
        next.pending.subtract(changes.added)
        for path in next.untracked where try vault.kind(path) == nil { next.untracked.remove(path) }
        if next != self { try next.write(vault.files, scratch: scratch) }
    }

    /// Brings the record up to date after a move of the head that took files out of the vault.
    ///
    /// They are not dropped when somebody commits them anew: that is another decision. Nor are those that a commit has
    /// taken out whose record could not be brought up to date.
    ///
    /// * `before`: What was tracked before the move.
    func moved(
        removing paths: [VaultPath], before: StatCache, in vault: Vault, scratch: ScratchArea
    ) throws(VaultError) {
        let dropped = pending.intersection(paths).union(pending.filter { !before.position(of: $0.bytes).found })
        guard !dropped.isEmpty else { return }
        var next = self
        next.pending.subtract(dropped)
        for path in dropped where try vault.kind(path) != nil { next.untracked.insert(path) }
        try next.write(vault.files, scratch: scratch)
    }
}

extension Vault {
    /// What `rm --cached` recorded for the branch that is worked on.
    func leftOut(_ state: CloneState) throws(VaultError) -> LeftOut {
        try LeftOut.read(files, for: state.headRef)
    }
}
