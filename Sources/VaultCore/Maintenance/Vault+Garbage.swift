internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Removes objects that nothing refers to and that have been there for long (spec 05 §12).
    ///
    /// Spared is everything that a ref of any branch, a tag, an accepted or seen head of a remote, the log of moves, a
    /// merge, an interrupted command or a stash leads to, and everything that a younger object leads to. Nothing is ever
    /// removed at a remote.
    ///
    /// - Throws: `usage` for an age below an hour, `objectMissing`, `objectCorrupt` or `refUnreadable` where damage keeps
    ///   from telling what is needed, `remoteMoved` when another program moved a branch meanwhile. Nothing is removed
    ///   then.
    public func collectGarbage(
        _ options: GarbageOptions = GarbageOptions(), observer: any Observer = SilentObserver()
    ) throws -> GarbageReport {
        guard options.olderThanSeconds >= GarbageOptions.leastAge else {
            throw VaultError(.usage, "what is younger than an hour may belong to a command that is running")
        }
        func run(_ scratch: ScratchArea?) throws -> GarbageReport {
            try GarbageCollection(vault: self, options: options, scratch: scratch, observer: observer).run()
        }
        if options.dryRun { return try reading(run) }
        let lock = try lock()
        return try run(lock.scratch)
    }
}

/// One run, under the clone's lock.
private struct GarbageCollection {
    let vault: Vault
    let options: GarbageOptions
    /// Nil in a dry run where the clone can not be written.
    let scratch: ScratchArea?
    let observer: any Observer

    func run() throws -> GarbageReport {
        let state = try vault.loadState()
        var report = GarbageReport()
        report.isPartial = vault.holdsPart(state.config)
        let reflog = Reflog(files: vault.files)
        let moves = try reflog.unexpired(nowMs: vault.environment.clock.nowMs)
        report.expiredMoves = moves.expired
        if moves.expired > 0, !options.dryRun, let scratch { try reflog.replace(with: moves.kept, scratch: scratch) }
        let before = try refBytes()
        let reach = Reachability(vault: vault, boundaries: state.config.shallowBoundaries)
        try GarbageRoots(vault: vault, state: state, moves: moves.kept).mark(in: reach)
        let held = try vault.store.allIDs()
        report.reachable = held.count { reach.reached.contains($0) }
        var old: [(id: ObjectID, size: Int64)] = []
        for (number, id) in held.enumerated() where !reach.reached.contains(id) {
            try vault.environment.pool.checkCancellation()
            observer.progress(Progress(phase: .verify, done: number, total: held.count))
            guard let status = try status(id), isOld(status) else {
                // What a young object leads to is needed as soon as anything names that object.
                try? reach.mark(anything: id, at: .ends)
                continue
            }
            old.append((id, status.size))
        }
        old.removeAll { reach.reached.contains($0.id) }
        report.kept = held.count - report.reachable - old.count
        report.removed = old.map(\.id).sorted()
        report.bytes = old.reduce(0) { $0 + $1.size }
        report.quarantined = try sweepQuarantine(removing: false)
        guard !options.dryRun else { return report }
        try attempt("interrupted") { () throws(Errno) in try vault.environment.failPoints.hit(.gcBeforeRemoval) }
        guard try refBytes() == before else {
            throw VaultError(
                .remoteMoved, "another program moved a branch of this clone meanwhile; nothing was removed",
                hint: "run the command again")
        }
        try remove(report.removed, reach)
        _ = try sweepQuarantine(removing: true)
        return report
    }

    private func status(_ id: ObjectID) throws(VaultError) -> FileStatus? {
        try attempt("cannot look at object \(id.text)", path: id.text) { () throws(Errno) in
            try vault.layout.data.statusIfPresent(of: id.utf8)
        }
    }

    /// A file of the future has an age that can not be told.
    private func isOld(_ status: FileStatus) -> Bool {
        guard status.kind == .regular else { return false }
        let age = vault.environment.clock.nowMs - status.modifiedNs / 1_000_000
        return age > 0 && age / 1000 >= options.olderThanSeconds
    }

    /// Every ref as it is stored, and the index.
    private func refBytes() throws(VaultError) -> [[UInt8]: [UInt8]] {
        try attempt("cannot read the refs") { () throws(Errno) in
            var all: [[UInt8]: [UInt8]] = [:]
            for folder in [vault.layout.refs, vault.layout.indexes] {
                for entry in try folder.entries() {
                    all[entry.name] = try folder.contents(entry.name, limit: Limits.indexPlaintext)
                }
            }
            return all
        }
    }

    /// Removes objects, commits first: whatever interrupts this, no commit is left whose contents went before it.
    private func remove(_ ids: [ObjectID], _ reach: Reachability) throws {
        let commits = ids.filter { reach.isCommit($0) }
        let others = Set(ids).subtracting(commits).sorted()
        for part in [commits, others] where !part.isEmpty {
            try attempt("cannot remove an object") { () throws(Errno) in
                for id in part {
                    do throws(Errno) { try vault.layout.data.removeFile(id.utf8) } catch .noSuchFile {}  // gone already
                    try vault.environment.failPoints.hit(.gcRemovedOne)
                }
                try vault.layout.data.sync()
            }
        }
    }

    /// Damaged objects that were set aside long ago and of which a copy is held again.
    private func sweepQuarantine(removing: Bool) throws -> Int {
        try attempt("cannot look into the quarantine") { () throws(Errno) -> Int in
            guard let own = try vault.layout.local.openIfPresent("vaultctl"),
                let folder = try own.openIfPresent("quarantine")
            else { return 0 }
            var count = 0
            for entry in try folder.entries() {
                guard let id = try? ObjectID(utf8: entry.name.span),
                    let status = try folder.statusIfPresent(of: id.utf8),
                    isOld(status), try vault.layout.data.statusIfPresent(of: id.utf8) != nil
                else { continue }
                if removing { try folder.removeFile(entry.name) }
                count += 1
            }
            return count
        }
    }
}

extension Vault {
    /// Whether this clone deliberately holds less than the whole vault.
    func holdsPart(_ config: CloneConfig) -> Bool {
        config.isSparse || !config.scopePaths.isEmpty || config.usesPackStore || !config.shallowBoundaries.isEmpty
    }
}
