internal import VaultFormat
internal import VaultSystem

/// Changes files of the working copy while the head stays: all of them, or none.
struct WorkingEdit {
    let vault: Vault
    let scratch: ScratchArea
    let observer: any Observer
    /// Has the content that is put into the working copy.
    let incoming: BlobReader
    /// Has the content that is taken out of it, for the way back.
    let outgoing: BlobReader
    /// Make what had its content before durable too, because the other copy is given up.
    var syncsWhatIsThere = false

    /// Checks the change.
    ///
    /// * `differences`: What each path holds now and what it is to hold, sorted by path.
    /// * `leavingOthers`: Leave paths that hold something else as they are.
    /// - Throws: `dirtyTree` when a path holds something else.
    func prepare(_ differences: [TreeDifference], leavingOthers: Bool = false) throws -> CheckoutGuard.Plan {
        try guardian().plan(differences, leavingOthers: leavingOthers)
    }

    /// Carries a checked change out, or takes back what was done of it.
    ///
    /// * `undone`: Called when all of it was taken back.
    func finish(
        _ plan: CheckoutGuard.Plan, of differences: [TreeDifference], undone: () throws -> Void = {}
    ) throws -> Checkout.Outcome {
        try incoming.store.require(plan.write.lazy.map { ($0.path, $0.entry) })
        do {
            return try carryOut(plan, from: incoming)
        } catch let error as VaultError where !error.isOfTheDisk {
            let touched = Set(plan.write.map(\.path) + plan.remove.map(\.path))
            do {
                let back = try guardian().rollback(differences.filter { touched.contains($0.path) })
                _ = try carryOut(back, from: outgoing)
                try undone()
            } catch {}
            throw error
        }
    }

    private func guardian() throws(VaultError) -> CheckoutGuard {
        CheckoutGuard(
            root: vault.layout.root, blobs: BlobReader(store: vault.store, cipher: vault.cipher),
            pool: vault.environment.pool, notStored: try vault.notStored())
    }

    /// Removes and writes, and makes both durable.
    func carryOut(_ plan: CheckoutGuard.Plan, from blobs: BlobReader) throws -> Checkout.Outcome {
        let failPoints = vault.environment.failPoints
        let checkout = Checkout(
            root: vault.layout.root, scratch: scratch, blobs: blobs, syncsBeforeNaming: true,
            pool: vault.environment.pool, observer: observer, failPoints: failPoints)
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(.checkoutBeforeFirst) }
        try checkout.remove(plan.remove)
        let outcome = try checkout.write(plan.write.sorted { $0.path < $1.path })
        let there = syncsWhatIsThere ? plan.alreadyThere : []
        try checkout.sync(plan.write.map(\.path) + there, removed: plan.remove.map(\.path))
        return outcome
    }
}
