internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Makes records of `local/vaultctl` that do not read anew, or moves them to the quarantine.
    func mendRecords(from remote: (any Remote)?, _ scratch: ScratchArea) async throws -> Mended {
        var mended = Mended()
        for record in OwnRecord.all where try record.isDamaged(files) {
            let name = "local/vaultctl/\(record.name)"
            switch record.mending {
            case .kept: continue
            case .setAside(let meaning):
                try setAsideOwn(record.name)
                mended.notes.append("\(name) was set aside: \(meaning)")
            case .derived(let meaning):
                guard let state = try? loadState() else { continue }
                try await derive(record.name, state, remote, scratch)
                mended.notes.append("\(name) was made anew: \(meaning)")
            }
            mended.names.append(name)
        }
        return mended
    }

    /// The same for files that the reference writes as well.
    func mendShared(_ scratch: ScratchArea) throws -> Mended {
        var mended = Mended()
        let meanings = [
            ("pending_registration.json", "the next push registers this clone's branch again"),
            ("push_state.json", "an interrupted push of the reference begins anew"),
            ("base_url", Self.lostServer),
            ("remotes.json", "its remotes have to be saved again: vaultctl remote add"),
        ]
        for (name, meaning) in meanings {
            do throws(VaultError) {
                switch name {
                case "base_url": try checkServerAddress()
                case "remotes.json": _ = try savedRemotes()
                default: _ = try files.readObject(name)
                }
                continue
            } catch {
                if error.isUnreadable { continue }
                guard error.code == .objectCorrupt else { throw error }
            }
            let state = try? loadState()
            try setAside(name, in: layout.local)
            if name == "pending_registration.json", let own = state?.cloneBranch {
                try recordPending(own, head: state?.head, scratch: scratch)
            }
            mended.names.append("local/\(name)")
            mended.notes.append("local/\(name) did not read: \(meaning)")
        }
        return mended
    }

    /// Takes lines that do not read out of the log of moves, or moves what is no log out of its place.
    func mendReflog(_ scratch: ScratchArea) throws -> Mended {
        let log = Reflog(files: files)
        let lines: [Reflog.Entry?]
        do throws(VaultError) { lines = try log.lines() } catch {
            if error.isUnreadable { return Mended() }
            guard error.code == .objectCorrupt else { throw error }
            try setAside(Reflog.fileName, in: layout.local)
            return Mended(
                names: [Reflog.path],
                notes: ["\(Reflog.path) was no log: moves of branches are recorded from now on, and @{0} is the next"])
        }
        let kept = lines.compactMap(\.self)
        guard kept.count < lines.count else { return Mended() }
        if let bytes = try files.read(Reflog.fileName, limit: Reflog.limit) {
            let place = try layout.ownSubfolder("quarantine")
            try attempt("cannot keep a copy of \(Reflog.path)", path: Reflog.path) { () throws(Errno) in
                try scratch.replace(Reflog.fileName.bytes, in: place, with: bytes.span, mode: 0o600)
            }
        }
        try log.replace(with: kept, scratch: scratch)
        return Mended(
            names: [Reflog.path],
            notes: [
                "\(Reflog.path): \(lines.count - kept.count) of \(lines.count) lines could not be read and were taken out; "
                    + "the moves that are left are numbered anew"
            ])
    }

    /// The addresses of which one was this clone's server, when `local/base_url` is lost.
    ///
    /// That it is, is told by heads that were accepted from a recorded server while none is recorded now.
    ///
    /// - Returns: Nil when nothing tells that.
    func addressesOfLostServer(_ state: CloneState) throws(VaultError) -> [String]? {
        guard try recordedServer() == nil, try savedRemotes().isEmpty,
            let accepted = try? RemoteHeads(
                files: files, config: state.config, tracked: state.namedBranch.headRefID), !accepted.heads.isEmpty
        else { return nil }
        var addresses: [String] = []
        for place in seenPlaces() where try !RemoteHeads.hasHeads(of: place, files) { addresses.append(place.text) }
        return addresses.isEmpty ? nil : addresses
    }

    /// Records the server again when one address alone is known.
    func mendServer(_ scratch: ScratchArea) throws -> Mended {
        guard let state = try? loadState(), let addresses = (try? addressesOfLostServer(state)) ?? nil,
            addresses.count == 1
        else { return Mended() }
        try files.write("base_url", addresses[0].bytes, scratch: scratch)
        return Mended(
            names: ["local/base_url"],
            notes: ["local/base_url was lost: the only address that is known is \(addresses[0])"])
    }

    /// Moves what no stash lists any more to the quarantine.
    func mendStashes() throws -> Mended {
        var mended = Mended()
        for name in try StashShelf(vault: self).setAsideWithoutManifest() {
            let text = PathQuoting.text(name)
            mended.names.append("local/vaultctl/stash/\(text)")
            mended.notes.append(
                "the stash \(text) has lost its list of files; its contents are in local/vaultctl/quarantine/\(text), each "
                    + "an encrypted file without a name")
        }
        return mended
    }

    private func setAsideOwn(_ name: String) throws(VaultError) {
        guard let own = try layout.ownFolder(create: false) else { return }
        try setAside(name, in: own, as: "vaultctl-\(name)")
    }

    /// Derives a record before the old one is moved away, so that what fails here leaves it as it is.
    private func derive(
        _ name: String, _ state: CloneState, _ remote: (any Remote)?, _ scratch: ScratchArea
    ) async throws {
        switch name {
        case OwnRecord.unpushedBranches:
            let branches = try await branchesOnlyHere(state, remote)
            try setAsideOwn(name)
            try recordUnpushed(branches, scratch: scratch)
        case OwnRecord.unpushedTags:
            let tags = try tagsOnlyHere(state.index)
            try setAsideOwn(name)
            try PendingTag.record(tags, files, scratch: scratch)
        default:
            let paths = try absentPaths(state)
            try setAsideOwn(name)
            try recordNotStored(paths, scratch: scratch)
        }
    }

    /// The named branches that the remote does not have; without one, those of which no remote's head is known.
    private func branchesOnlyHere(_ state: CloneState, _ remote: (any Remote)?) async throws -> Set<String> {
        let named = state.index.namedBranches.filter { $0.headRefID != ids.headRef }
        if let remote {
            let found = try await remote.readAll([.index(ids.index)])
            var known: Set<BranchID> = []
            if case .content(let bytes)? = found[.index(ids.index)] {
                known = Set(try refs.decodeIndex(bytes, ids.index).branches.map(\.branchID))
            }
            return Set(named.map(\.branchID).filter { !known.contains($0) }.map(\.text))
        }
        let accepted = try? RemoteHeads(files: files, config: state.config, tracked: state.namedBranch.headRefID)
        let seen = seenRefs()
        return Set(
            named.filter { branch in
                let ref = branch.headRefID
                return accepted?[ref] == nil && !seen.contains(ref)
                    && (try? RemoteHeads.others(ref, files))?.isEmpty != false
            }.map(\.branchID.text))
    }

    /// Sound tags among the objects that are newer than what the index says of their names.
    private func tagsOnlyHere(_ index: BranchIndex) throws -> [PendingTag] {
        let largest = 64 << 10
        let reader = TagReader(vault: self, index: index)
        var newest: [String: TagEntry] = [:]
        for id in try store.allIDs() {
            try environment.pool.checkCancellation()
            guard let size = try store.size(id), size <= largest,
                let bytes = try? store.read(id, limit: largest).bytes,
                let plain = try? cipher.open(bytes.span, limit: largest),
                let tag = try? TagObject.decode(plain.span), tag.schema == "tag_v1", let name = tag.name,
                (try? tag.target()) != nil
            else { continue }
            let entry = TagEntry(name: name, tagID: id, isDeleted: false, timestampMs: tag.timestampMs ?? 0)
            if let known = index.tag(named: name), known.timestampMs >= entry.timestampMs { continue }
            if let known = newest[name], known.timestampMs >= entry.timestampMs { continue }
            // The content of a file may look like a tag; it is signed by nobody.
            guard try reader.look(at: entry).signature == .verified else { continue }
            newest[name] = entry
        }
        return newest.values.sorted { $0.name < $1.name }
            .map { PendingTag(entry: $0, replaces: index.tag(named: $0.name)?.tagID) }
    }

    /// Tracked files that are not in the working copy though they should be.
    ///
    /// A file that was deleted is among them: its entry stays in the vault, which loses nothing.
    private func absentPaths(_ state: CloneState) throws -> Set<VaultPath> {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let tracked = try trackedFiles(of: state.head, graph: graph, trees: treeReader())
        let selection = try Selection.read(files)
        var paths: Set<VaultPath> = []
        for entry in tracked.entries where try kind(entry.path) == nil {
            if part.isSparse, try !isWritten(entry.path, entry.blobID, selection) { continue }
            paths.insert(entry.path)
        }
        return paths
    }

    /// Gives a clone whose signing key is lost or does not read a new branch with a new key, which goes on where the old
    /// one was.
    func mendSigningKey(_ scratch: ScratchArea) throws -> Mended {
        guard mode == .full, let loaded = try? loadState(), let own = loaded.cloneBranch, let id = own.publicKeyID
        else { return Mended() }
        var state = loaded
        do throws(VaultError) {
            if try signingKey(own) != nil { return Mended() }
        } catch {
            guard error.code == .objectCorrupt else { throw error }
            try setAside("\(id.text).pem", in: layout.local)
        }
        let branch = try addOwnBranch(to: state.index, on: state.namedBranch, head: state.head, scratch: scratch)
        var leftOut = try LeftOut.read(files, for: own.headRefID)
        leftOut.ref = branch.headRefID
        if !leftOut.pending.isEmpty || !leftOut.untracked.isEmpty { try leftOut.write(files, scratch: scratch) }
        state.config.myBranchID = branch.branchID.text
        try files.write(CloneConfig.fileName, state.config.json, scratch: scratch)
        if let head = state.head { try recordOwnHead(head, ref: branch.headRefID, scratch: scratch) }
        return Mended(
            names: ["local/\(id.text).pem"],
            notes: [
                "the signing key \(id.text) is lost: this clone has a new branch and a new key, and what was signed "
                    + "with the old one still verifies"
            ])
    }
}
