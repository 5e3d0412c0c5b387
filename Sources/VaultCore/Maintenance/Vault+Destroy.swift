internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Removes this vault at a remote for ever and forgets what this clone accepted from there.
    ///
    /// The clone keeps everything; its vault id can not be published to that place again. Success is told only when the
    /// remote lists nothing any more.
    ///
    /// - Throws: `readOnlyClone`, `partialClone` in a clone of a part, `remoteNotFound` when there is no vault, `keyWrong`,
    ///   `serverError` when files are left, or what the remote throws.
    public func destroyRemote(_ remote: any Remote) async throws -> RemoteDestruction {
        try requireWritable("destroy the vault")
        let authorization = try keys.authorization()
        let lock = try lockWithoutRecovery()
        if let value = try files.readObject(CloneConfig.fileName), holdsPart(try CloneConfig(reading: value)) {
            throw VaultError(
                .partialClone, "this clone holds a part of the vault only, and the rest may be nowhere else",
                hint: "destroy it from a full clone", path: root)
        }
        // A server takes the destruction of what it never had, and the id is burnt all the same.
        guard try await !remote.list(.all).isEmpty else {
            throw VaultError(.remoteNotFound, "\(remote.location) holds no vault \(vaultID)")
        }
        let count = try await remote.destroy(authorization: authorization)
        let left = try await remote.list(.all)
        guard left.isEmpty else {
            throw VaultError(
                .serverError, "\(remote.location) says that the vault is gone and still has \(left.count) files of it")
        }
        try forgetAccepted(from: remote, lock.scratch)
        return RemoteDestruction(vaultID: vaultID, location: remote.location, files: count)
    }

    /// Forgets the heads accepted from a remote: nothing there is left to be compared with (spec 03 §2.3).
    private func forgetAccepted(from remote: any Remote, _ scratch: ScratchArea) throws {
        let place = place(of: remote.location)
        try RemoteHeads.forget(place, files: files, scratch: scratch)
        try forgetSeen(place, scratch: scratch)
        guard try isTracked(remote), let value = try files.readObject(CloneConfig.fileName) else { return }
        var config = try CloneConfig(reading: value)
        config.lastRemoteHead = nil
        config.remoteHeadsFile = false
        // The mark goes first: a file that it promises and that is missing counts as lost.
        try files.write(CloneConfig.fileName, config.json, scratch: scratch)
        try files.remove(RemoteHeads.fileName)
        try files.remove("push_state.json")
    }
}
