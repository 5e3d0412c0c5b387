internal import VaultFormat
internal import VaultSystem

extension FsckOperation {
    /// Reads every stash: its list of files, and the objects that it names.
    func checkStashes(_ report: inout FsckReport) throws {
        let shelf = StashShelf(vault: vault)
        for record in try shelf.all() {
            let place = (record.isOwn ? "local/vaultctl/stash/" : "local/stash/") + PathQuoting.text(record.name)
            do {
                if let damage = record.damage { throw damage }
                try check(record, shelf)
            } catch let error as VaultError {
                guard error.isDamage || error.isUnreadable || error.code == .formatUnsupported else { throw error }
                // Another command may have dropped it meanwhile.
                guard try shelf.holds(record) else { continue }
                if error.code == .formatUnsupported { throw error }
                let problem = finding(place, .state, error.message)
                if error.isDamage { report.broken.append(problem) } else { report.unreadable.append(problem) }
            }
        }
        for (name, count) in try shelf.withoutManifest() {
            report.broken.append(
                finding(
                    "local/vaultctl/stash/" + PathQuoting.text(name), .state,
                    "a stash whose list of files is lost; its contents, \(count) objects, are kept"))
        }
    }

    private func check(_ record: StashRecord, _ shelf: StashShelf) throws {
        guard record.isOwn else {
            if !options.connectivityOnly { try shelf.readZip(record) }
            return
        }
        let store = ObjectStore(layout: vault.layout, folder: try shelf.folder(record.name))
        for file in record.files {
            guard let entry = file.entry else { continue }
            try vault.environment.pool.checkCancellation()
            do {
                if options.connectivityOnly {
                    guard try store.holds(entry.blobID) else { throw ObjectStore.missing(entry.blobID) }
                } else {
                    _ = try hash(entry.blobID, store)
                }
            } catch let error as VaultError where error.isDamage {
                throw VaultError(
                    error.code, "what it holds of \(file.path) is lost (\(error.message))", path: file.path.description)
            }
        }
    }
}
