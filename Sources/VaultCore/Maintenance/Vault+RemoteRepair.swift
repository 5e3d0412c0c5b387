internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Asks a remote which objects and keys it has and puts back those that its branches reach and that it lost, and
    /// public keys that do not read there.
    ///
    /// This clone's own key comes from its private half, others from the copy here where that reads. No ref moves. A push
    /// does not do that: what the remote's own head reaches counts as being there.
    ///
    /// - Throws: `remoteNotFound` when there is no vault, `remoteMoved` when this clone lacks a head of the remote,
    ///   `objectMissing` when this clone is whole and lacks an object all the same, `objectCorrupt` for a damaged one
    ///   here and for a key that does not read there and is not here, `serverError` when the remote does not list afterwards what it was sent, or what the remote throws.
    public func repairRemote(
        _ remote: any Remote, observer: any Observer = SilentObserver()
    ) async throws -> RemoteRepair {
        try requireWritable("repair a remote")
        let authorization = try keys.authorization()
        let lock = try lock()
        defer { withExtendedLifetime(lock.scratch) {} }
        let state = try loadState()
        let repair = RemoteRepairing(
            vault: self, state: state, remote: remote, authorization: authorization, scratch: lock.scratch,
            observer: observer)
        return try await repair.run()
    }
}

private struct RemoteRepairing {
    let vault: Vault
    let state: CloneState
    let remote: any Remote
    let authorization: WriteAuthorization
    let scratch: ScratchArea
    let observer: any Observer

    func run() async throws -> RemoteRepair {
        let snapshot = try await vault.snapshot(of: remote, ref: state.namedBranch.headRefID)
        guard !snapshot.isAbsent else {
            throw VaultError(
                .remoteNotFound, "\(remote.location) holds no vault \(vault.vaultID)", hint: "vaultctl push")
        }
        let reach = Reachability(vault: vault, boundaries: state.config.shallowBoundaries)
        let isPartial = vault.holdsPart(state.config)
        for head in try await heads(snapshot) { try reach.mark(commit: head, at: isPartial ? .ends : .fails) }
        let index = snapshot.index ?? state.index
        for tag in index.tags {
            if let id = tag.tagID { try reach.mark(tag: id, at: .ends) }
        }
        // A branch that was merged before it was pushed is in no index.
        let keys = Set(index.branches.compactMap(\.publicKeyID)).union(reach.signers)
        var result = RemoteRepair()
        result.checked = reach.reached.count + keys.count
        let lost = try await lacking(reach.reached, keys)
        var sources: [(id: ObjectID, size: Int64?)] = []
        for id in lost.objects.sorted() {
            if let size = try vault.store.size(id) {
                sources.append((id, size))
                result.bytes += size
            } else {
                guard isPartial else { throw ObjectStore.missing(id) }
                result.missing.append(id)
            }
        }
        var keyBytes: [(id: KeyID, bytes: [UInt8])] = []
        for id in lost.keys.sorted(by: { $0.text < $1.text }) {
            guard let bytes = try vault.publishableKey(id, scratch) else { continue }
            keyBytes.append((id, bytes))
            result.bytes += Int64(bytes.count)
        }
        let damaged = try await damagedKeys(among: keys.subtracting(lost.keys))
        for (id, bytes) in try await replace(damaged) {
            result.restored.append(id.text)
            result.bytes += Int64(bytes.count)
        }
        guard !sources.isEmpty || !keyBytes.isEmpty else { return result }
        let publisher = Publisher(
            remote: remote, authorization: authorization, store: vault.store, observer: observer)
        try await publisher.send(sources, keys: keyBytes)
        let left = try await lacking(Set(sources.map(\.id)), Set(keyBytes.map(\.id)))
        guard left.objects.isEmpty, left.keys.isEmpty else {
            throw VaultError(
                .serverError, "\(remote.location) took what it lacked and does not list it",
                object: left.objects.min()?.text)
        }
        result.restored = (result.restored + sources.map(\.id.text) + keyBytes.map(\.id.text)).sorted()
        return result
    }

    /// The heads of all named branches there, which are held here.
    private func heads(_ snapshot: RemoteSnapshot) async throws -> [ObjectID] {
        let heads = try await vault.namedHeads(snapshot, at: remote)
        for head in heads where try !vault.store.holds(head) {
            // What this clone stands on was here once.
            guard head != state.head else { throw ObjectStore.missing(head) }
            throw VaultError(
                .remoteMoved, "\(remote.location) has commits that are not here", hint: "vaultctl fetch --all",
                object: head.text)
        }
        return heads
    }

    /// Keys that do not read there, or of this clone's own are others than their private halves tell, with what is there.
    private func damagedKeys(among ids: Set<KeyID>) async throws -> [(id: KeyID, there: [UInt8])] {
        let found = try await remote.readAll(ids.sorted { $0.text < $1.text }.map { .key($0) })
        var damaged: [(id: KeyID, there: [UInt8])] = []
        for id in ids.sorted(by: { $0.text < $1.text }) {
            switch found[.key(id)] {
            case .content(let bytes):
                let own = (try? vault.privateKey(id)) ?? nil
                let known = SignatureChecker.publicKey(bytes, cipher: vault.cipher)
                if let known, own == nil || own?.publicKey.pem == known.pem { continue }
                damaged.append((id, bytes))
            case .large:
                throw VaultError(
                    .objectCorrupt,
                    "what stands under the public key \(id.text) at \(remote.location) is far too large",
                    object: id.text)
            case .absent, nil: continue
            }
        }
        return damaged
    }

    /// Replaces keys that do not read there, each on the condition that it still holds what was found.
    private func replace(_ damaged: [(id: KeyID, there: [UInt8])]) async throws -> [(id: KeyID, bytes: [UInt8])] {
        var replaced: [(id: KeyID, bytes: [UInt8])] = []
        for (id, there) in damaged {
            guard let bytes = try vault.publishableKey(id, scratch) else {
                throw VaultError(
                    .objectCorrupt,
                    "the public key \(id.text) does not read at \(remote.location), and is not here either",
                    hint: "push --repair from the clone that signs with it", object: id.text)
            }
            let batch = try WriteBatch([.swap(.key(id), expected: .bytes(there), new: bytes)])
            guard case .applied = try await remote.apply(batch, authorization: authorization),
                case .content(bytes)? = try await remote.readAll([.key(id)])[.key(id)]
            else {
                throw VaultError(
                    .serverError, "\(remote.location) did not keep the public key \(id.text) that it was sent",
                    object: id.text)
            }
            replaced.append((id, bytes))
        }
        return replaced
    }

    private func lacking(
        _ objects: Set<ObjectID>, _ keys: Set<KeyID>
    ) async throws -> (objects: Set<ObjectID>, keys: Set<KeyID>) {
        var result = (objects: objects, keys: keys)
        for file in try await remote.list(.objects) { if case .object(let id) = file { result.objects.remove(id) } }
        guard !keys.isEmpty else { return result }
        for file in try await remote.list(.keys) { if case .key(let id) = file { result.keys.remove(id) } }
        return result
    }
}

extension Vault {
    /// The heads of all named branches of a remote; those that do not read are left out.
    func namedHeads(_ snapshot: RemoteSnapshot, at remote: any Remote) async throws -> [ObjectID] {
        var heads = [snapshot.head].compactMap { $0 }
        let others = (snapshot.index?.branches ?? []).filter { $0.type == .named && $0.headRefID != snapshot.ref }
        for case (.ref(let ref), .content(let bytes)) in try await remote.readAll(others.map { .ref($0.headRefID) }) {
            if let head = try? refs.decode(bytes, of: ref) { heads.append(head) }
        }
        return heads
    }
}
