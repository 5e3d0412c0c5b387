internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One writing batch on a folder remote: whole or not at all, also across a crash (spec 05 §17).
struct FolderTransaction {
    let remote: FolderRemote
    let authorization: WriteAuthorization

    func apply(_ batch: WriteBatch) throws -> BatchOutcome {
        guard authorization.vaultID == remote.vaultID else {
            throw VaultError(.internalError, "a write for vault \(authorization.vaultID) on the remote of another")
        }
        let hash = try decoding("the write key") { () throws(FormatError) in try authorization.writeKey.ownerHash() }
        return try FolderSession.run(on: remote, ownerHash: hash) { try apply(batch, in: $0) }
    }

    private func apply(_ batch: WriteBatch, in session: FolderSession) throws -> BatchOutcome {
        // Opened under the lock: what was seen before may have changed since.
        let store = try session.store()
        let writer = session.writer
        if let conflict = try findConflict(batch, store) { return conflict }
        let journal: FolderJournal
        do {
            journal = FolderJournal(try stage(batch, store, writer))
            try writer.syncStaged(journal.steps.compactMap(\.temporary))
            try hit(.folderStagedDurable)
        } catch {
            // Nothing has happened yet; room on a full disk is given back at once.
            try? writer.discard()
            throw error
        }
        do {
            try writer.publish(journal)
        } catch {
            try? writer.discardUnlessPublishing()
            throw error
        }
        return .applied
    }

    // MARK: Conditions

    /// The first condition that does not hold.
    ///
    /// Nothing has been written yet.
    private func findConflict(_ batch: WriteBatch, _ store: FolderStore) throws(VaultError) -> BatchOutcome? {
        // What earlier swaps of the batch would leave.
        var written: [SwapTarget: [UInt8]] = [:]
        for (position, operation) in batch.operations.enumerated() {
            guard case .swap(let target, let expected, let new) = operation else { continue }
            let current: [UInt8]? = if let bytes = written[target] { bytes } else { try held(target, store) }
            let holds =
                switch expected {
                case .absent: current == nil
                case .bytes(let bytes): current == bytes
                }
            if !holds { return .conflict(position: position, current: current) }
            written[target] = new
        }
        return nil
    }

    private func held(_ target: SwapTarget, _ store: FolderStore) throws(VaultError) -> [UInt8]? {
        switch try store.read(target.fileID, limit: Limits.indexPlaintext) {
        case .content(let bytes): return bytes
        case .absent: return nil
        case .large:
            throw VaultError(
                .refUnreadable, "\(target.fileID.path) of \(remote.location) is far too large",
                object: target.fileID.path)
        }
    }

    // MARK: Staging

    /// Writes the new bytes to the scratch folder, several files at once.
    private func stage(
        _ batch: WriteBatch, _ store: FolderStore, _ writer: FolderWriter
    ) throws -> [FolderJournal.Step] {
        let operations = batch.operations
        let group = 16
        let pool = remote.environment.pool
        let parts = try pool.map(count: (operations.count + group - 1) / group) { index -> [FolderJournal.Step] in
            try operations[index * group..<min(operations.count, (index + 1) * group)].compactMap {
                try stage($0, store, writer)
            }
        }
        try hit(.folderStaged)
        return parts.flatMap { $0 }
    }

    private func stage(
        _ operation: WriteOperation, _ store: FolderStore, _ writer: FolderWriter
    ) throws -> FolderJournal.Step? {
        switch operation {
        case .object(let id, let source):
            if let (file, size) = try store.open(.object(id)) {
                try compare(file, size, with: source, .object(id))
                return nil
            }
            return FolderJournal.Step(
                target: .object(id), temporary: try writer.stage { sink in try source.read { try sink($0) } })
        case .key(let id, let bytes):
            switch try store.read(.key(id), limit: bytes.count) {
            case .absent: break
            case .content(bytes): return nil
            case .content, .large: throw differs(.key(id))
            }
            return FolderJournal.Step(target: .key(id), temporary: try writer.stage { try $0(bytes.span) })
        case .cache(let id, let bytes):
            return FolderJournal.Step(target: id, temporary: try writer.stage { try $0(bytes.span) })
        case .swap(let target, _, let bytes):
            return FolderJournal.Step(target: target.fileID, temporary: try writer.stage { try $0(bytes.span) })
        case .removeCache(let id):
            return FolderJournal.Step(target: id, temporary: nil)
        }
    }

    /// An object that is there already must be the same one (spec 05 §17).
    private func compare(_ held: any File, _ size: Int64, with source: any ObjectSource, _ id: FileID) throws {
        guard size == source.size else { throw differs(id) }
        try source.read { chunk in
            let other = try attempt("cannot read \(id.path)") { () throws(Errno) in
                try held.read(fillingUpTo: max(chunk.count, 1), sizeHint: chunk.count)
            }
            guard other.count == chunk.count, ConstantTime.equal(other.span, chunk) else { throw differs(id) }
        }
    }

    private func differs(_ id: FileID) -> VaultError {
        VaultError(
            .objectCorrupt, "\(remote.location) holds other bytes under \(id.path); nothing was written",
            hint: "the folder is damaged; push to a fresh one", object: id.path)
    }

    private func hit(_ point: FailPoint) throws(VaultError) {
        try attempt("interrupted") { () throws(Errno) in try remote.environment.failPoints.hit(point) }
    }
}
