internal import VaultFormat
internal import VaultSystem

/// What a repair made anew.
struct Mended {
    /// The files, by id or name.
    var names: [String] = []
    /// What that could not bring back, and what it means.
    var notes: [String] = []
    /// Refs that were put back to a commit which need not be the right one.
    var guesses: [FsckReport.Finding] = []

    static func += (left: inout Mended, right: Mended) {
        left.names += right.names
        left.notes += right.notes
        left.guesses += right.guesses
    }
}

extension Vault {
    /// Makes what is lost or does not read anew from what is known: the index from the remote or from the clone's own
    /// files, `config.json` from the index and the keys, and the refs of all its branches from what its records say of
    /// them.
    ///
    /// * `remote`: Nil where none is recorded.
    func mendMutable(from remote: (any Remote)?, _ scratch: ScratchArea) async throws -> Mended {
        var mended = Mended()
        let config = try usableConfig()
        let trace = OwnBranchTrace(vault: self, config: config)
        var (stored, isDamaged) = try usableIndex()
        var isNew = false
        if stored == nil, let remote {
            let found = try await remote.readAll([.index(ids.index)])
            if case .content(let bytes)? = found[.index(ids.index)] {
                guard let index = try? refs.decodeIndex(bytes, ids.index) else { return mended }
                try Self.checkGate(index)
                (stored, isNew) = (index, true)
            }
        }
        if stored == nil, isDamaged || trace.needsBranch {
            stored = try rebuiltIndex(trace)
            isNew = true
            mended.notes.append(
                "the branch index was made anew from this clone alone: the branch 'current' and this clone's own; names "
                    + "of other branches, tags, rules for signatures and later formats come back with the next pull from a "
                    + "remote that has them")
        }
        guard var index = stored ?? (isDamaged ? nil : fallbackIndex()) else { return mended }
        let own = try trace.branch(in: index)
        if let own, index.branch(id: own.branchID) == nil {
            index.branches.append(own)
            isNew = true
        }
        if isNew {
            // What does not read is kept beside; a crash in between leaves none, which the next repair finds as well.
            if isDamaged { try setAside(ids.index.text, in: layout.indexes) }
            try storeIndex(index, scratch: scratch)
            mended.names.append(ids.index.text)
            mended.notes += try unnamedWork(index, own)
        }
        if config == nil {
            try rebuildConfig(own, scratch)
            mended.names.append("local/\(CloneConfig.fileName)")
            mended.notes.append(
                "local/config.json was made anew: this clone counts as one of the whole vault, and works on the branch "
                    + "'\(try trackedBranch(of: own, index).name)'")
        }
        mended += try await mendRefs(index, own, try usableConfig(), from: remote, scratch)
        return mended
    }

    /// `local/config.json`, or nil when it is absent or can not be used.
    private func usableConfig() throws(VaultError) -> CloneConfig? {
        do throws(VaultError) {
            guard let value = try files.readObject(CloneConfig.fileName) else { return nil }
            return try CloneConfig(reading: value)
        } catch {
            guard error.code == .objectCorrupt else { throw error }
            return nil
        }
    }

    private func usableIndex() throws(VaultError) -> (index: BranchIndex?, isDamaged: Bool) {
        var index: BranchIndex?
        let isDamaged = try isDamaged { () throws(VaultError) in index = try refs.index(ids.index) }
        return (index, isDamaged)
    }

    func isDamaged(_ read: () throws(VaultError) -> Void) throws(VaultError) -> Bool {
        do throws(VaultError) {
            try read()
            return false
        } catch {
            switch error.code {
            case .refUnreadable, .objectCorrupt, .decryptFailed: return true
            default: throw error
            }
        }
    }

    /// Moves a file that does not read to `local/vaultctl/quarantine`.
    func setAside(_ name: String, in folder: any Directory, as newName: String? = nil) throws(VaultError) {
        let place = try layout.ownSubfolder("quarantine")
        try attempt("cannot set \(name) aside", path: name) { () throws(Errno) in
            let isFile = try folder.status(of: name.bytes).kind == .regular
            var kept = newName ?? name
            var number = 1
            // A file takes the place of one that was set aside before; a folder can not, and is not to be replaced.
            while let there = try place.statusIfPresent(of: kept.bytes), !isFile || there.kind != .regular {
                number += 1
                kept = "\(newName ?? name).\(number)"
            }
            try folder.rename(name.bytes, to: place, as: kept.bytes, replacing: true)
            // Where it went first: else a power cut could leave it nowhere.
            try place.sync()
            try folder.sync()
        }
    }

    /// The index of a vault with the branch `current` alone (spec 02 §7), in the format that the objects here show.
    private func rebuiltIndex(_ trace: OwnBranchTrace) throws(VaultError) -> BranchIndex {
        var index = fallbackIndex()
        if trace.head?.width == .long {
            index.format = 2
            index.features = [Feature.longIDs]
        }
        return index
    }

    private func rebuildConfig(_ own: BranchRecord?, _ scratch: ScratchArea) throws(VaultError) {
        if try attempt(
            "cannot look at local/config.json",
            { () throws(Errno) in
                try layout.local.statusIfPresent(of: CloneConfig.fileName.bytes) != nil
            })
        {
            try setAside(CloneConfig.fileName, in: layout.local)
        }
        var config = CloneConfig(
            myBranchID: own?.branchID.text, isReadOnly: mode == .readOnly, lastRemoteHead: nil)
        config.remoteHeadsFile = try files.read(RemoteHeads.fileName) != nil
        config.isSparse = try files.read(Selection.recordName) != nil
        try files.write(CloneConfig.fileName, config.json, scratch: scratch)
    }

    /// How to get at commits of this clone's refs that no branch of the new index names.
    private func unnamedWork(_ index: BranchIndex, _ own: BranchRecord?) throws(VaultError) -> [String] {
        let known = Set(index.branches.map(\.headRefID))
        var heads: Set<ObjectID> = []
        for branch in index.branches {
            if let head = try? refs.commit(of: branch.headRefID) { heads.insert(head) }
        }
        let graph = CommitGraph(store: store, cipher: cipher)
        var notes: [String] = []
        for ref in try storedRefs() where !known.contains(ref) {
            guard let head = try? refs.commit(of: ref), (try? store.holds(head)) == true else { continue }
            if heads.contains(where: { (try? graph.isAncestor(head, of: $0)) == true }) { continue }
            notes.append(
                "\(ref.text) leads to \(head.text), which no branch has any more: "
                    + "vaultctl switch -c NAME --from \(head.text)")
        }
        return notes
    }
}
