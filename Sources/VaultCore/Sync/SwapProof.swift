internal import VaultFormat
internal import VaultSystem

/// Whether a swap that a remote reported really stands, where the remote compares and writes in two steps and two
/// clients can both be told that theirs was written (spec 05 §9.5).
struct SwapProof {
    let vault: Vault
    let remote: any Remote
    let scratch: ScratchArea
    let boundaries: Set<ObjectID>
    let observer: any Observer

    /// Reads a ref once more.
    ///
    /// - Returns: False when it does not name a commit of which it can be shown that it contains `head`, which may then
    ///   be lost to others. True also when the remote can not be asked: it did report the swap.
    func stands(_ head: ObjectID, at ref: RefID, width: IDWidth) async throws -> Bool {
        let found: RemoteFile?
        do {
            found = try await remote.readAll([.ref(ref)])[.ref(ref)]
        } catch let error as VaultError {
            observer.warning("pushed, but it could not be read back: \(error.message)")
            return true
        }
        guard case .content(let bytes)? = found, let there = try? vault.refs.decode(bytes, of: ref) else {
            return false
        }
        if there == head { return true }
        return (try? await contains(head, in: there, width: width)) ?? false
    }

    /// Whether somebody has pushed on top meanwhile; their commits are looked at and not kept.
    private func contains(_ head: ObjectID, in there: ObjectID, width: IDWidth) async throws -> Bool {
        let batch = vault.newBatch(width: width, scratch: scratch)
        let fetcher = ObjectFetcher(remote: remote, batch: batch, observer: SilentObserver())
        let closure = ClosureFetcher(vault: vault, fetcher: fetcher, boundaries: boundaries)
        _ = try await closure.fetchCommits(from: there) { (id) throws(VaultError) in try vault.store.holds(id) }
        return try closure.graph.isAncestor(head, of: there)
    }
}
