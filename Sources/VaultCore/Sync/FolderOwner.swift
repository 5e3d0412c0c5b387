internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Whose a vault is.
package enum VaultOwner: Sendable, Equatable {
    /// The first to write will own it.
    case nobody
    /// Nobody can ever write again.
    case destroyed
    /// The holder of the write key with this hash (spec 04 §5).
    case writeKey(hash: String)
}

/// Who may write a folder remote: the first write key that did (spec 04 §5, 05 §17).
struct FolderOwner {
    private let own: any Directory
    private let remote: FolderRemote

    init(_ own: any Directory, remote: FolderRemote) {
        self.own = own
        self.remote = remote
    }

    /// Whether the folder belongs to a write key already, which must be the one with this hash.
    ///
    /// - Throws: `keyWrong` for another vault or key, `refused` after a destroy.
    func check(hash: String) throws(VaultError) -> Bool {
        switch try owner() {
        case .nobody: return false
        case .destroyed:
            throw VaultError(
                .refused, "the vault in \(remote.location) was destroyed; its id can never be used again there",
                hint: "vaultctl push --server with another folder, or vaultctl detach --backup")
        case .writeKey(let held):
            guard ConstantTime.equal(held.bytes.span, hash.bytes.span) else {
                throw VaultError(
                    .keyWrong, "\(remote.location) belongs to another vault or write key", hint: "use another folder")
            }
            return true
        }
    }

    /// Who owns the folder; of another vault's folder a key that nobody has.
    func owner() throws(VaultError) -> VaultOwner {
        let bytes = try attempt("cannot read the owner of \(remote.location)") { () throws(Errno) in
            try own.readFileIfPresent(FolderStore.ownerName, limit: 65_536)
        }
        guard let bytes else { return .nobody }
        guard let record = try? JSONReader.parse(bytes.span), record["v"] == .integer(1) else {
            throw VaultError(.formatUnsupported, "the owner record of \(remote.location) is not understood")
        }
        if record["destroyed_at"] != nil { return .destroyed }
        guard record["vault_id"]?.text == remote.vaultID.text, let hash = record["write_key_hash"]?.text else {
            return .writeKey(hash: "")
        }
        return .writeKey(hash: hash)
    }

    /// Records the owner, durably.
    func bind(hash: String, scratch: ScratchArea) throws(VaultError) {
        let record = JSONValue.record([
            "v": .integer(1),
            "vault_id": .string(remote.vaultID.text),
            "write_key_hash": .string(hash),
            "created_at": .string(LocalTime.utc(ms: remote.environment.clock.nowMs)),
        ])
        try write(record, scratch)
    }

    /// Records durably that the vault was destroyed: from now on nobody may write.
    func destroy(scratch: ScratchArea) throws(VaultError) {
        try write(
            .record([
                "v": .integer(1),
                "vault_id": .string(remote.vaultID.text),
                "destroyed_at": .string(LocalTime.utc(ms: remote.environment.clock.nowMs)),
            ]), scratch)
    }

    private func write(_ record: JSONValue, _ scratch: ScratchArea) throws(VaultError) {
        let bytes = JSONWriter.bytes(record, .compact)
        try attempt("cannot write the owner of \(remote.location)") { () throws(Errno) in
            try scratch.replace(FolderStore.ownerName, in: own, with: bytes.span, mode: 0o600)
        }
    }
}

/// The lock that every writing batch holds.
///
/// The kernel gives it back when the process ends, so none is ever stale.
final class FolderLock: Sendable {
    private let file: any File

    /// Waits for the lock, as long as the remote says.
    ///
    /// - Throws: `locked` when another writer holds it all the time, `cancelled`.
    init(_ own: any Directory, remote: FolderRemote) throws(VaultError) {
        var wait = LockWait(
            remote.environment, seconds: remote.lockTimeout, for: "another writer of \(remote.location)")
        while true {
            let taken = try attempt("cannot lock \(remote.location)") { () throws(Errno) in try Self.take(own) }
            if let taken {
                file = taken
                return
            }
            guard try wait.pause(milliseconds: 5) else {
                throw VaultError(
                    .locked, "another writer holds \(remote.location)", hint: "wait for it, or raise --lock-timeout",
                    path: remote.location)
            }
        }
    }

    private static func take(_ own: any Directory) throws(Errno) -> (any File)? {
        let file = try own.openForAppending(name, mode: 0o600)
        guard try file.lock(wait: false) else { return nil }
        // A lock file that was removed in between protects nobody.
        guard try own.statusIfPresent(of: name)?.inode == file.status().inode else { return nil }
        return file
    }

    func release() {
        // The descriptor goes right after; an error here would change nothing.
        try? file.unlock()
    }

    private static let name = "lock".bytes
}
