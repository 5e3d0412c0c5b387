internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Makes an index and a named ref that do not read anew from what is known, the index from the remote, the ref from
    /// the last accepted head, and sets other refs that do not read aside.
    ///
    /// This clone's own ref is put back by the log of its moves.
    func mendMutable(from remote: any Remote, _ scratch: ScratchArea) async throws -> [String] {
        guard let value = try? files.readObject(CloneConfig.fileName), let config = try? CloneConfig(reading: value)
        else { return [] }
        var mended: [String] = []
        if try isDamaged({ () throws(VaultError) in _ = try refs.index(ids.index) }) {
            let found = try await remote.readAll([.index(ids.index)])
            guard case .content(let bytes)? = found[.index(ids.index)],
                let index = try? refs.decodeIndex(bytes, ids.index)
            else { return [] }
            try Self.checkGate(index)
            // In one step, so that a crash leaves the damaged one, which the next repair finds.
            try storeIndex(try completed(index, config), scratch: scratch)
            mended.append(ids.index.text)
        }
        let index = try refs.index(ids.index) ?? fallbackIndex()
        let own = config.myBranchID.flatMap { try? BranchID($0) }.flatMap { index.branch(id: $0) }
        let named = try trackedBranch(of: own, index)
        if let own, try isDamaged({ () throws(VaultError) in _ = try refs.commit(of: own.headRefID) }) {
            try setAside(own.headRefID.text, in: layout.refs)
        }
        if try isDamaged({ () throws(VaultError) in _ = try refs.commit(of: named.headRefID) }) {
            let accepted = try? RemoteHeads(files: files, config: config, tracked: named.headRefID)[named.headRefID]
            if let accepted, try store.holds(accepted) {
                try storeRef(named.headRefID, old: nil, new: accepted, scratch: scratch)
            } else {
                try setAside(named.headRefID.text, in: layout.refs)
            }
            mended.append(named.headRefID.text)
        }
        return mended
    }

    private func isDamaged(_ read: () throws(VaultError) -> Void) throws(VaultError) -> Bool {
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

    private func setAside(_ name: String, in folder: any Directory) throws(VaultError) {
        let place = try layout.ownSubfolder("quarantine")
        try attempt("cannot set \(name) aside", path: name) { () throws(Errno) in
            try folder.rename(name.bytes, to: place, as: name.bytes, replacing: true)
            try folder.sync()
        }
    }

    /// The remote's index with this clone's branch, which it may not know yet.
    private func completed(_ index: BranchIndex, _ config: CloneConfig) throws(VaultError) -> BranchIndex {
        guard let text = config.myBranchID, let id = try? BranchID(text), index.branch(id: id) == nil,
            let pending = try files.readObject("pending_registration.json"),
            let ref = pending["head_ref_id"]?.text.flatMap({ try? RefID($0) }),
            let named = index.branches.first(where: { $0.name == "current" && $0.type == .named })
        else { return index }
        var result = index
        result.branches.append(
            BranchRecord(
                branchID: id, name: "local", type: .clone, headRefID: ref,
                publicKeyID: pending["public_key_id"]?.text.flatMap { try? KeyID($0) },
                createdAtMs: commitTimeMs(), creatorBranch: named.branchID))
        return result
    }
}
