internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Refuses a key that opens nothing here.
    ///
    /// Ids are derived from the key as well: with another one the vault looks as if its index and refs were lost, and
    /// what a repair makes anew would be sealed for nobody. One sound file proves the key; only where every file that is
    /// looked at is damaged can the two not be told apart. Costs one small file where the index reads.
    ///
    /// - Throws: `keyWrong`.
    func requireFittingKey() throws(VaultError) {
        if let index = try? refs.bytes(of: .index(ids.index), limit: Limits.indexPlaintext),
            (try? cipher.open(index.span, limit: Limits.indexPlaintext)) != nil
        {
            return
        }
        let objects = try store.listing().map(\.id.utf8)
        let indexes = try names(in: layout.indexes)
        let stored = try names(in: layout.refs)
        if indexes.isEmpty && stored.isEmpty && objects.isEmpty { return }
        if opensOne(of: indexes, in: layout.indexes) || opensOne(of: objects, in: layout.data) { return }
        // Refs alone prove nothing where objects are held: a repair with a wrong key may have written them.
        if objects.isEmpty, opensOne(of: stored, in: layout.refs) { return }
        let place = mode == .readOnly ? "local/clone_mode.json" : "local/vault_key"
        throw VaultError(
            .keyWrong,
            mode == .bare
                ? "this key opens nothing in the vault in \(root)"
                : "the key in \(place) opens nothing in this clone; nothing was changed",
            hint: mode == .bare
                ? "give the key of this vault"
                : "put the right key back into \(place); every other clone of the vault has it, and its owner",
            path: mode == .bare ? root : place)
    }

    private func names(in folder: any Directory) throws(VaultError) -> [[UInt8]] {
        try attempt("cannot list the files of the vault") { () throws(Errno) in try folder.entries() }.map(\.name)
    }

    /// Whether the key opens one of the first small files.
    private func opensOne(of names: [[UInt8]], in folder: any Directory) -> Bool {
        let largest = 64 << 10
        var tried = 0
        for name in names {
            guard let status = try? folder.status(of: name), status.kind == .regular, status.size <= Int64(largest),
                status.size > 0, let bytes = (try? folder.contents(name, limit: largest)) ?? nil
            else { continue }
            if (try? cipher.open(bytes.span, limit: largest)) != nil { return true }
            tried += 1
            if tried == 64 { return false }
        }
        return false
    }
}
