internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A public key of the vault as it is stored here.
enum StoredKey: Sendable, Equatable {
    case sound([UInt8])
    /// Something stands there that is no public key of this vault.
    case damaged
    case absent
}

extension Vault {
    /// What is stored here under the id of a public key.
    func storedKey(_ id: KeyID) throws(VaultError) -> StoredKey {
        do throws(VaultError) {
            guard let bytes = try refs.bytes(of: .key(id), limit: Limits.keyPlaintext) else { return .absent }
            return SignatureChecker.publicKey(bytes, cipher: cipher) == nil ? .damaged : .sound(bytes)
        } catch {
            guard error.isDamage else { throw error }
            return .damaged
        }
    }

    /// A public key as it may be published: the stored one, or made anew from its private half where this clone has it.
    ///
    /// * `scratch`: Where what was made anew is stored through; nil for a look only.
    /// - Returns: Nil where there is none here.
    /// - Throws: `objectCorrupt` for a damaged one of another clone.
    func publishableKey(_ id: KeyID, _ scratch: ScratchArea?) throws(VaultError) -> [UInt8]? {
        let stored = try storedKey(id)
        if case .sound(let bytes) = stored { return bytes }
        if let made = try remadeKey(id) {
            if let scratch { try store(made, as: id, scratch) }
            return made
        }
        guard stored == .damaged else { return nil }
        throw VaultError(
            .objectCorrupt, "the public key \(id.text) does not read here, so it is not published",
            hint:
                "vaultctl fsck --repair; where that can not bring it back, remove bare/keys/\(id.text) to publish without",
            object: id.text)
    }

    /// The public key that belongs to a private one of this clone, sealed anew; nil where the private one is not here or
    /// does not read.
    private func remadeKey(_ id: KeyID) throws(VaultError) -> [UInt8]? {
        let own: P256PrivateKey?
        do throws(VaultError) { own = try privateKey(id) } catch {
            guard error.code == .objectCorrupt else { throw error }
            return nil
        }
        guard let own else { return nil }
        let random = environment.random
        return try decoding("storing a public key") { () throws(FormatError) in
            let plaintext = KeyObject.encode(pem: own.publicKey.pem)
            return try cipher.sealRandom(plaintext.span, random: random)
        }
    }

    /// Puts a sound key in its place; what stands there is kept aside.
    private func store(_ bytes: [UInt8], as id: KeyID, _ scratch: ScratchArea) throws(VaultError) {
        if try storedKey(id) == .damaged { try setAside(id.text, in: layout.keys) }
        try attempt("cannot store a public key") { () throws(Errno) in
            try scratch.replace(id.text.bytes, in: layout.keys, with: bytes.span, mode: 0o666)
        }
    }

    /// Brings back public keys that a check misses or can not read: this clone's own from its private half, others from
    /// the remote.
    func mendKeys(
        _ report: FsckReport, from remote: (any Remote)?, _ scratch: ScratchArea
    ) async throws -> Mended {
        var mended = Mended()
        var wanted = Set(report.lackingKeys)
        for finding in report.missing + report.broken where finding.kind == .key {
            guard let id = try? KeyID(finding.id) else { continue }
            if let made = try remadeKey(id) {
                try store(made, as: id, scratch)
                mended.names.append(id.text)
            } else {
                wanted.insert(id)
            }
        }
        guard !wanted.isEmpty else { return mended }
        let ids = wanted.sorted { $0.text < $1.text }
        let found: [FileID: RemoteFile]
        do { found = try await remote?.readAll(ids.map { .key($0) }) ?? [:] } catch let error as VaultError {
            // For keys that need not be anywhere alone no remote has to answer.
            guard wanted.isSubset(of: report.lackingKeys) else { throw error }
            found = [:]
        }
        for id in ids {
            if case .content(let bytes)? = found[.key(id)], SignatureChecker.publicKey(bytes, cipher: cipher) != nil {
                try store(bytes, as: id, scratch)
                mended.names.append(id.text)
            } else {
                mended.notes.append(
                    "the public key \(id.text) is not to be had: what it signed can not be checked; the clone that signs "
                        + "with it publishes it again with 'vaultctl push --repair', then repair here again")
            }
        }
        return mended
    }
}
