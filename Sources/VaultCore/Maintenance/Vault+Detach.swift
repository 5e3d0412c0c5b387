internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Makes a plain folder of this clone: its files stay, the encrypted store and the keys go (spec 05 §14).
    ///
    /// * `withBackup`: First write a backup into the folder, with the key where this clone holds one, under a name that
    ///   no commit takes; `restoreBackup` with `existing` brings the clone back.
    /// - Throws: `mergeInProgress`, `refused` where something would be lost or forgotten: stashes, tags that were not
    ///   pushed, backups in `.sg_vault`, a rekey that is not finished or whose old vault is still there, and without a
    ///   backup commits that no remote is known to have. `refUnreadable` for a damaged branch. Nothing has changed then.
    public func detach(withBackup: Bool, observer: any Observer = SilentObserver()) throws -> DetachResult {
        guard mode != .bare else {
            throw VaultError(.refused, "a bare clone has no files that would stay; remove its folder", path: root)
        }
        let lock = try lock(settling: true)
        defer { withExtendedLifetime(lock.scratch) {} }
        try refuseDuringMerge()
        guard try StashShelf(vault: self).count() == 0 else {
            throw VaultError(.refused, "stashes would be lost", hint: "vaultctl stash pop, or stash drop")
        }
        guard try RekeyPlace.open(self) == nil else {
            throw VaultError(.refused, "a rekey is not finished", hint: "vaultctl rekey --resume, or rekey --abandon")
        }
        try refuseLoss()
        var backup: BackupResult?
        if withBackup {
            let options = BackupOptions(label: "uninit", includesKey: mode == .full, allowsDirty: true)
            // The name by which the reference finds it, too.
            let name = ".vault__" + BackupWriter.fileName(vaultID, options.label, environment.clock.nowMs)
            backup = try BackupWriter(vault: self, options: options, observer: observer)
                .write(to: rootPath.appending(component: name))
        } else {
            try requirePublished(try loadState())
        }
        let aside = "\(RekeyWork.oldPrefix)\(environment.clock.nowMs)".bytes
        try attempt("cannot remove the vault", path: root) { () throws(Errno) in
            // In one step: what a crash leaves is no half clone, and no program takes it for one.
            try layout.root.rename(CloneLayout.vaultName, to: layout.root, as: aside, replacing: false)
            try layout.root.sync()
            try layout.root.removeTree(aside)
            // The keys were in it: they are gone when this says so.
            try layout.root.sync()
        }
        return DetachResult(directory: root, vaultID: vaultID, backup: backup)
    }

    /// Refuses where something is left that neither a backup nor a remote has.
    private func refuseLoss() throws {
        guard try pendingTags().isEmpty else {
            throw VaultError(
                .refused, "tags made or deleted here were not pushed yet, and a backup does not hold that",
                hint: "vaultctl push")
        }
        let old = try RekeyJournal.read(files)?.pending.oldFolder
        let keepsOld = try attempt("cannot look into the vault", path: root) { () throws(Errno) in
            guard let old else { return false }
            return try layout.root.statusIfPresent(of: old.bytes) != nil
        }
        if keepsOld, let old {
            throw VaultError(
                .refused, "the vault that a rekey replaced is in \(old) still, with its key",
                hint: "vaultctl rekey --resume --delete-old, or move it elsewhere", path: old)
        }
        try refuseBackupLoss()
    }

    /// Refuses to remove a vault's folder while backups are in it.
    ///
    /// * `folder`: Its name in the clone.
    package func refuseBackupLoss(in folder: String = ".sg_vault") throws(VaultError) {
        let hasBackups = try attempt("cannot look into the vault", path: root) { () throws(Errno) in
            guard let backups = try layout.root.openIfPresent(folder)?.openIfPresent("backups") else { return false }
            return try backups.holdsFiles()
        }
        guard hasBackups else { return }
        throw VaultError(
            .refused, "the backups in \(folder)/backups would go too; nothing was removed",
            hint: "move them elsewhere, or remove them", path: root)
    }

    /// Refuses where a branch of this clone has commits that no remote is known to have.
    private func requirePublished(_ state: CloneState) throws {
        var branches: [(head: ObjectID, state: CloneState)] = []
        for branch in state.index.branches {
            let isOwn = branch.branchID == state.cloneBranch?.branchID
            let holdsKey = try branch.type == .clone && signingKey(branch) != nil
            // What does not read is not known to be anywhere.
            guard isOwn || holdsKey || branch.type == .named, let head = try refs.commit(of: branch.headRefID),
                try store.holds(head)
            else { continue }
            var worked = state
            if branch.type == .clone {
                (worked.cloneBranch, worked.namedBranch) = (branch, try trackedBranch(of: branch, state.index))
            } else {
                (worked.cloneBranch, worked.namedBranch) = (nil, branch)
            }
            branches.append((head, worked))
        }
        for branch in branches where try !isPublished(branch.head, state: branch.state, isStillThere: true) {
            throw VaultError(
                .refused, "commits of the branch '\(branch.state.namedBranch.name)' are nowhere else",
                hint: "vaultctl push, or vaultctl detach --backup", object: branch.head.text)
        }
    }
}
