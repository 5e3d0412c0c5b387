internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Brings objects from a remote into a batch, each checked against its id before it is kept (spec 05 I5).
struct ObjectFetcher: Sendable {
    let remote: any Remote
    let batch: ObjectBatch
    let observer: any Observer
    /// Count an object that arrives with other bytes as missing, where one bad object must not spoil the rest.
    var skipsCorrupt = false

    /// Fetches objects and gives back those that the remote does not have.
    ///
    /// * `large`: Objects that are known to be large, which are not asked for together with others.
    /// * `others`: Further small files, read by the way and put into `collected`.
    ///
    /// - Throws: `objectCorrupt` when what arrives is not what was asked for.
    func fetch(
        _ ids: [ObjectID], large: [ObjectID] = [], others: [FileID] = [], into collected: Collected = Collected()
    ) async throws -> [ObjectID] {
        try await fetch(others + ids.map { .object($0) }, large: large, into: collected, isSweep: false).missing
    }

    /// Fetches what comes without asking twice, and gives back what was left out (see `Remote.sweep`).
    ///
    /// Of objects that the remote does not have nothing is said.
    func sweep(
        _ ids: [ObjectID], others: [FileID] = [], into collected: Collected = Collected()
    ) async throws -> [FileID] {
        try await fetch(others + ids.map { .object($0) }, large: [], into: collected, isSweep: true).leftOut
    }

    private func fetch(
        _ files: [FileID], large: [ObjectID], into collected: Collected, isSweep: Bool
    ) async throws -> (missing: [ObjectID], leftOut: [FileID]) {
        let total = files.count + large.count
        guard total > 0 else { return ([], []) }
        let outcome = Locked(Outcome(large: large))
        let batch = batch
        let observer = observer
        let location = remote.location
        let skipsCorrupt = skipsCorrupt
        let deliver: @Sendable (FileID, RemoteFile) throws -> Void = { fileID, file in
            guard case .object(let id) = fileID else { return collected.put(fileID, file) }
            try batch.pool.checkCancellation()
            switch file {
            case .content(let bytes):
                do {
                    try batch.add(VerifiedObject(checking: bytes, as: id))
                } catch let error as VaultError where error.code == .objectCorrupt {
                    guard skipsCorrupt else { throw Self.corrupt(id, location) }
                    outcome.withLock { $0.missing.append(id) }
                    return
                }
                let done = outcome.withLock { outcome -> (Int, Int64) in
                    outcome.done += 1
                    outcome.bytes += Int64(bytes.count)
                    return (outcome.done, outcome.bytes)
                }
                observer.progress(Progress(phase: .download, done: done.0, total: total, bytes: done.1))
            case .absent: outcome.withLock { $0.missing.append(id) }
            case .large: outcome.withLock { $0.large.append(id) }
            }
        }
        var leftOut: [FileID] = []
        if isSweep {
            leftOut = try await remote.sweep(files, deliver: deliver)
        } else if !files.isEmpty {
            try await remote.read(files, deliver: deliver)
        }
        var result = outcome.withLock { $0 }
        for id in result.large.sorted() where try await !fetchLarge(id) { result.missing.append(id) }
        return (result.missing.sorted(), leftOut)
    }

    private struct Outcome: Sendable {
        var missing: [ObjectID] = []
        var large: [ObjectID]
        var done = 0
        var bytes: Int64 = 0
    }

    private func fetchLarge(_ id: ObjectID) async throws -> Bool {
        let (file, name) = try batch.begin()
        let hash = try IncrementalHash()
        var size: Int64 = 0
        do {
            let found = try await remote.stream(.object(id)) { chunk in
                try batch.pool.checkCancellation()
                try hash.update(chunk)
                size += Int64(chunk.count)
                try attempt("cannot store object \(id.text)") { () throws(Errno) in try file.write(chunk) }
            }
            guard found else {
                batch.discard(name)
                return false
            }
            _ = try batch.finish(name, digest: try hash.finish(), size: size, id: id)
            return true
        } catch let error as VaultError where error.code == .objectCorrupt {
            batch.discard(name)
            guard skipsCorrupt else { throw Self.corrupt(id, remote.location) }
            return false
        } catch {
            batch.discard(name)
            throw error
        }
    }

    private static func corrupt(_ id: ObjectID, _ location: String) -> VaultError {
        VaultError(
            .objectCorrupt, "\(location) answered other bytes than those of \(id.text); nothing was kept",
            hint: "the place holding the vault is damaged or lies", object: id.text)
    }
}
