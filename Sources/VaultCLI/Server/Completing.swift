internal import VaultCore
internal import VaultSystem

extension Call {
    /// Does work on a clone that may hold a part of the vault only: contents that it lacks are fetched from the vault's
    /// server, and the work is done again.
    ///
    /// The thread waits meanwhile, so that verbs need no task of their own for what seldom happens.
    ///
    /// * `work`: Has neither changed nor given out anything when it throws `objectMissing`.
    /// - Throws: what `work` throws, or why what it lacks can not be fetched.
    func completing<Result>(_ vault: Vault, _ work: () throws -> Result) throws -> Result {
        var rounds = Vault.LackingRounds(vault: vault)
        while true {
            let lacking: Vault.Lacking
            do { return try work() } catch { lacking = try rounds.next(after: error) }
            do { try fetch(lacking, for: vault) } catch { throw lacking.unfetched(error) }
        }
    }

    private func fetch(_ lacking: Vault.Lacking, for vault: Vault) throws {
        let server = try ServerChoice.existing(self, vault)
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: self, vault: vault)
        let observer = observer()
        let failure = Locked<(any Error)?>(nil)
        ThreadExecutor.run {
            do { try await vault.bring(lacking, from: remote, observer: observer) } catch {
                failure.withLock { $0 = error }
            }
        }
        messages.eraseProgress()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
