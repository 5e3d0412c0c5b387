internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Checks that everything the clone's history reaches is there and sound, that refs, index, keys and state read,
    /// and that signatures verify (spec 05 §12).
    ///
    /// * `remote`: Where `options.repair` fetches missing and corrupt objects from; without one it makes anew what the
    ///   clone's own files tell.
    /// - Throws: only when the check itself could not be done: `keyWrong` where the key opens nothing here. What it finds
    ///   is in the report.
    public func fsck(
        _ options: FsckOptions = FsckOptions(), repairFrom remote: (any Remote)? = nil,
        observer: any Observer = SilentObserver()
    ) async throws -> FsckReport {
        try requireFittingKey()
        guard options.repair else {
            return try FsckOperation(vault: self, options: options, observer: observer).run()
        }
        let lock = try lockWithoutRecovery()
        // The log first: what is mended afterwards is recorded in it.
        var mended = try mendReflog(lock.scratch)
        mended += try mendMisplaced(lock.scratch)
        mended += try await mendMutable(from: remote, lock.scratch)
        mended += try await mendRecords(from: remote, lock.scratch)
        mended += try mendShared(lock.scratch)
        mended += try mendStashes()
        mended += try mendServer(lock.scratch)
        // A new branch could not be recorded beside what a newer version wrote.
        if (try? OwnRecord.requireWritable(layout)) != nil { mended += try mendSigningKey(lock.scratch) }
        var report = try FsckOperation(vault: self, options: options, observer: observer).run()
        // Every round may reach objects behind those the last one brought; none is fetched twice.
        var tried: Set<ObjectID> = []
        var fetched: Set<ObjectID> = []
        while let remote {
            let wanted = Set((report.missing + report.corrupt).compactMap { try? ObjectID($0.id) })
                .subtracting(tried)
            if wanted.isEmpty { break }
            tried.formUnion(wanted)
            let batch = newBatch(width: .short, scratch: lock.scratch)
            let absent = try await ObjectFetcher(
                remote: remote, batch: batch, observer: observer, skipsCorrupt: true
            )
            .fetch(wanted.sorted())
            let brought = wanted.subtracting(absent)
            // Only what can be replaced is moved away: an object that merely could not be read may be the last copy.
            for finding in report.corrupt {
                if let id = try? ObjectID(finding.id), brought.contains(id) { store.quarantine(id) }
            }
            try batch.commit()
            fetched.formUnion(brought)
            if brought.isEmpty { break }
            report = try FsckOperation(vault: self, options: options, observer: observer).run()
        }
        let keys = try await mendKeys(report, from: remote, lock.scratch)
        if !keys.names.isEmpty {
            report = try FsckOperation(vault: self, options: options, observer: observer).run()
        }
        mended += keys
        report.broken += mended.guesses
        report.unrepaired += mended.guesses.map(\.id)
        let left = Set(report.unrepaired)
        report.repaired = Set(mended.names + fetched.map(\.text)).subtracting(left).sorted()
        report.notes += mended.notes
        return report
    }
}

extension Vault {
    /// Checks the clone's own files: config, index, refs, keys, records and stashes; no object of its history.
    public func checkOwnFiles() throws -> FsckReport {
        try requireFittingKey()
        var options = FsckOptions(connectivityOnly: true)
        options.ownFilesOnly = true
        return try FsckOperation(vault: self, options: options, observer: SilentObserver()).run()
    }

    /// Checks everything that a new clone holds.
    ///
    /// - Throws: `objectMissing`, `objectCorrupt` or the like naming the first thing that is wrong.
    func requireSound(checkingSignatures: Bool = false, observer: any Observer) throws {
        let options = FsckOptions(checkSignatures: checkingSignatures)
        let report = try FsckOperation(vault: self, options: options, observer: observer).run()
        if let bad = report.signatures.bad.first {
            throw VaultError(.signatureBad, "the signature of commit \(bad.text) is bad", object: bad.text)
        }
        // What was never to be had is no damage of what is made here.
        let missing = report.missing.filter { $0.kind != .key }
        guard let first = (missing + report.corrupt + report.broken + report.unreadable).first else { return }
        let code: VaultError.Code =
            !missing.isEmpty ? .objectMissing : report.isDamaged ? .objectCorrupt : .ioError
        throw VaultError(
            code, "the vault is not whole: \(first.kind.rawValue) \(first.id): \(first.detail)", object: first.id)
    }
}
