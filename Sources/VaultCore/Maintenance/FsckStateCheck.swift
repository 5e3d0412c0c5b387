internal import VaultCrypto
internal import VaultFormat

extension FsckOperation {
    /// Keys of every branch, baselines and state files.
    func checkState(_ state: CloneState, _ report: inout FsckReport) throws(VaultError) {
        for branch in state.index.branches {
            guard let key = branch.publicKeyID else { continue }
            do throws(VaultError) {
                guard let bytes = try vault.refs.bytes(of: .key(key), limit: Limits.keyPlaintext) else {
                    // A clone holds the keys of branches it has seen; another clone's may come with the next pull.
                    if branch.branchID == state.cloneBranch?.branchID {
                        report.broken.append(finding(key.text, .key, "this clone's public key is missing"))
                    }
                    continue
                }
                guard SignatureChecker.publicKey(bytes, cipher: vault.cipher) != nil else {
                    let owner = branch.type == .clone ? "a clone" : "the branch '\(branch.name)'"
                    report.broken.append(
                        finding(
                            key.text, .key, "the public key does not read: signatures of \(owner) can not be checked"))
                    continue
                }
            } catch {
                guard error.isDamage || error.isUnreadable else { throw error }
                let problem = finding(key.text, .key, error.message)
                if error.isDamage { report.broken.append(problem) } else { report.unreadable.append(problem) }
            }
        }
        let files = vault.files
        var notes: [String] = []
        func check(_ read: () throws(VaultError) -> Void) throws(VaultError) {
            do throws(VaultError) { try read() } catch {
                if error.isUnreadable {
                    report.unreadable.append(finding(error.path ?? "local", .state, error.message))
                    return
                }
                let id = error.path ?? "local"
                if error.code == .formatUnsupported {
                    if !report.newer.contains(where: { $0.id == id }) {
                        report.newer.append(finding(id, .state, error.message))
                    }
                    return
                }
                if !report.broken.contains(where: { $0.id == id }) {
                    // What leads out where a repair of its own does not.
                    let other = error.hint.flatMap { $0 == "vaultctl fsck --repair" ? nil : "; \($0)" } ?? ""
                    report.broken.append(finding(id, .state, error.message + other))
                }
            }
        }
        try check { () throws(VaultError) in
            _ = try RemoteHeads(files: files, config: state.config, tracked: state.namedBranch.headRefID)
        }
        try check { () throws(VaultError) in _ = try RemoteHeads.hasOthers(files) }
        try check { () throws(VaultError) in _ = try vault.mergeState() }
        try check { () throws(VaultError) in _ = try files.readObject("pending_registration.json") }
        try check { () throws(VaultError) in try vault.checkAddresses() }
        try check { () throws(VaultError) in _ = try files.readObject("push_state.json") }
        try check { () throws(VaultError) in
            let count = try Reflog(files: files).unreadableLines()
            if count > 0 {
                notes.append(
                    "\(count) \(count == 1 ? "line" : "lines") of \(Reflog.path) can not be read: which moves they told is "
                        + "lost; vaultctl fsck --repair keeps the others")
            }
        }
        if vault.part.isSparse { try check { () throws(VaultError) in _ = try Selection.read(files) } }
        try check { () throws(VaultError) in
            guard let addresses = try vault.addressesOfLostServer(state) else { return }
            let way =
                addresses.count == 1
                ? "vaultctl fsck --repair records it again" : "vaultctl remote add origin URL records one"
            notes.append(
                "local/base_url is lost: this clone had a server, and none is recorded; known is "
                    + "\(addresses.joined(separator: ", ")); \(way)")
        }
        for record in OwnRecord.all {
            if !record.isDurable, !record.isMisplaced(files), (try? record.isDamaged(files)) == true {
                notes.append("local/vaultctl/\(record.name) does not read, as after a power cut; nothing depends on it")
            } else {
                try check { () throws(VaultError) in try record.check(files) }
            }
        }
        try check { () throws(VaultError) in try checkSigningKey(state, &notes) }
        report.notes += notes
        try check { () throws(VaultError) in _ = try CloneSettings(files: files) }
    }

    /// Whether this clone can sign, with the key that its branch names.
    private func checkSigningKey(_ state: CloneState, _ notes: inout [String]) throws(VaultError) {
        guard vault.mode == .full, let own = state.cloneBranch, let id = own.publicKeyID else { return }
        guard let key = try vault.signingKey(own) else {
            notes.append(
                "local/\(id.text).pem is missing: commits of this clone are not signed; vaultctl fsck --repair makes a "
                    + "new key")
            return
        }
        guard let stored = try? vault.refs.bytes(of: .key(id), limit: Limits.keyPlaintext),
            let known = SignatureChecker.publicKey(stored, cipher: vault.cipher), known.pem != key.publicKey.pem
        else { return }
        throw VaultError(
            .objectCorrupt, "local/\(id.text).pem is not the key of this clone's branch", path: "local/\(id.text).pem")
    }
}
