internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Does work that may need contents which a partial clone has left at the remote: what is lacking is fetched,
    /// checked against its id and kept, and the work is done again.
    ///
    /// * `remote`: Opened only when something is lacking.
    /// * `work`: Has neither changed nor given out anything when it throws `objectMissing`.
    /// - Throws: what `work` throws; where something is lacking and can not be fetched, the reason for that with both told.
    public func completing<Result>(
        from remote: () throws -> any Remote, observer: any Observer = SilentObserver(), _ work: () throws -> Result
    ) async throws -> Result {
        var rounds = LackingRounds(vault: self)
        var opened: (any Remote)?
        while true {
            let lacking: Lacking
            do { return try work() } catch { lacking = try rounds.next(after: error) }
            do {
                let place = try opened ?? remote()
                opened = place
                try await bring(lacking, from: place, observer: observer)
            } catch { throw lacking.unfetched(error) }
        }
    }

    /// Objects that work on a partial clone lacks.
    package struct Lacking: Sendable {
        let objects: [ObjectID]
        let message: String

        /// The error of not being able to fetch them.
        package func unfetched(_ error: any Error) -> any Error {
            guard let error = error as? VaultError else { return error }
            let hint = error.code == .remoteNotFound ? error.hint : nil
            return error.following(
                message, hint: hint ?? "run it again when the remote can be reached: it has what is left out here")
        }
    }

    /// The rounds of a piece of work that is done again with what it lacked.
    package struct LackingRounds {
        private let vault: Vault
        private var tried: Set<ObjectID> = []

        package init(vault: Vault) { self.vault = vault }

        /// What a failed round lacked.
        ///
        /// - Throws: the failure itself when that is not why, when all should be here, and when it came already.
        package mutating func next(after error: any Error) throws -> Lacking {
            guard let failure = error as? VaultError, failure.code == .objectMissing, vault.part.isPartial,
                !tried.isSuperset(of: failure.missing)
            else { throw error }
            tried.formUnion(failure.missing)
            return Lacking(objects: failure.missing, message: failure.message)
        }
    }

    /// Fetches what work lacks.
    package func bring(_ lacking: Lacking, from remote: any Remote, observer: any Observer) async throws {
        let lock = try lockWithoutRecovery()
        try await bring(lacking.objects, from: remote, lock.scratch, observer)
    }

    /// Fetches objects in as few requests as there are, a folder with all folders in it, and keeps them.
    func bring(
        _ ids: [ObjectID], from remote: any Remote, _ scratch: ScratchArea, _ observer: any Observer
    ) async throws {
        try makeCheckoutRecord(scratch)
        let batch = newBatch(width: .short, scratch: scratch)
        let closure = ClosureFetcher(
            vault: self, fetcher: ObjectFetcher(remote: remote, batch: batch, observer: observer))
        let absent = try await closure.fetcher.fetch(ids)
        if let first = absent.first {
            throw VaultError(
                .objectMissing, "\(remote.location) does not have \(first.text) either",
                hint: "whoever has a complete clone can publish the vault to a new place with push --server",
                object: first.text)
        }
        var folders: [ObjectID] = []
        for id in ids {
            let limit = Limits.treeCiphertext
            guard let object = try? batch.read(id, limit: limit), (try? TreeReader.decode(object, cipher: cipher)) != nil
            else { continue }
            folders.append(id)
        }
        try await closure.fetchFolders(in: folders)
        try batch.commit()
    }
}
