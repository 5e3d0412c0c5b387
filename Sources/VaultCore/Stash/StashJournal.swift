internal import VaultFormat
internal import VaultSystem

/// A stash in the making, in `local/vaultctl/stashing`: written before the stash counts and removed when its work has
/// left the working copy, so that the next writing command can end what a crash interrupted (spec 10 B.11).
struct StashJournal: Sendable, Equatable {
    /// The command that makes the stash.
    var verb: String
    /// The folder of the stash.
    var name: [UInt8]

    static let fileName = "stashing"

    static func read(_ files: LocalFiles) throws(VaultError) -> StashJournal? {
        guard let value = try files.readOwn(fileName) else { return nil }
        guard let verb = value["verb"]?.text, let name = value["stash"]?.text?.bytes, StashShelf.isFolderName(name)
        else {
            throw VaultError(
                .objectCorrupt, "local/vaultctl/\(fileName) does not read",
                hint: "vaultctl fsck --repair", path: "local/vaultctl/\(fileName)")
        }
        return StashJournal(verb: verb, name: name)
    }

    func write(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        try files.writeOwn(
            Self.fileName,
            [
                JSONMember(name: "verb", value: .string(verb)),
                JSONMember(name: "stash", value: .string(String(decoding: name, as: UTF8.self))),
            ], scratch: scratch)
    }

    static func remove(_ files: LocalFiles) throws(VaultError) {
        try files.removeOwn(fileName)
    }
}

extension Vault {
    /// The command whose change of the working copy was interrupted, and will be finished or undone by the next one that
    /// writes; nil when there is none.
    func interruptedVerb() throws(VaultError) -> String? {
        if let verb = try Journal.read(files)?.verb { return verb }
        guard let stashing = try StashJournal.read(files), try StashShelf(vault: self).isSealed(stashing.name) else {
            return nil
        }
        return stashing.verb
    }

    /// Takes the work of a stash whose making was interrupted out of the working copy.
    ///
    /// What was changed since is left as it is; a stash that does not count yet has changed nothing.
    func settleStash(scratch: ScratchArea) throws {
        guard let journal = try StashJournal.read(files) else { return }
        let shelf = StashShelf(vault: self)
        guard mode == .full, try shelf.isSealed(journal.name) else { return try StashJournal.remove(files) }
        let record = try shelf.own(journal.name)
        let state = try loadState()
        // Another program, which takes no lock, moved the head: what lies there now is compared with that.
        guard state.head == record.base else { return try StashJournal.remove(files) }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let head = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        let differences = try record.files.map { file in
            let old = try head.flatMap { (id) throws(VaultError) in try trees.entry(file.path, in: id) }?.file
            return TreeDifference(path: file.path, old: file.entry, new: old)
        }
        let blobs = BlobReader(store: store, cipher: cipher)
        let edit = WorkingEdit(
            vault: self, scratch: scratch, observer: SilentObserver(), incoming: blobs,
            outgoing: shelf.blobs(in: try shelf.folder(journal.name)))
        let plan = try edit.prepare(differences, leavingOthers: true)
        try store.require(plan.write.lazy.map { ($0.path, $0.entry) })
        _ = try edit.carryOut(plan, from: blobs)
        try StashJournal.remove(files)
        environment.notice("an interrupted \(journal.verb) was finished; the edits are in the stash it made")
    }
}
