internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// The tags of the vault as this clone knows them, by name, with what their signatures are worth.
    ///
    /// * `pattern`: Only those whose whole name matches this shell pattern.
    public func tags(matching pattern: String? = nil) throws -> [TagInfo] {
        let index = try loadState().index
        let view = try tagView(index)
        let reader = TagReader(vault: self, index: index)
        var result: [TagInfo] = []
        for entry in view.live {
            if let pattern, !TagName.matches(entry.name, pattern: pattern) { continue }
            try environment.pool.checkCancellation()
            result.append(try reader.look(at: entry, isPushed: view.change(of: entry.name) == nil))
        }
        return result
    }

    /// The names of the tags; nothing is read or checked but the index.
    public func tagNames() throws -> [String] {
        try tagView(try loadState().index).live.map(\.name)
    }

    /// A tag, with what its signature is worth.
    ///
    /// - Throws: `revisionNotFound` when there is none of that name.
    public func tag(named name: String) throws -> TagInfo {
        let index = try loadState().index
        let view = try tagView(index)
        guard let entry = view.live(named: name) else { throw Self.noTag(name) }
        return try TagReader(vault: self, index: index)
            .look(at: entry, isPushed: view.change(of: name) == nil)
    }

    static func noTag(_ name: String) -> VaultError {
        VaultError(.revisionNotFound, "there is no tag '\(name)'", hint: "vaultctl tag", object: name)
    }

    // MARK: Making

    /// Makes a tag, signed with this clone's key; others see it after the next push.
    ///
    /// * `revision`: The commit it names; nil means the head.
    /// * `force`: Also where there is a tag of that name, which then moves.
    /// - Throws: `usage` for what can be no name or message, `nameTaken`, `revisionNotFound`, `keyMissing` when this
    ///   clone's signing key is not here, `readOnlyClone`, `signatureBad` for a tag as `revision` that is not followed.
    public func createTag(
        _ name: String, at revision: String? = nil, message: String = "", force: Bool = false
    ) throws -> TagCreation {
        try requireWritable("make a tag")
        guard TagName.isAllowed(name) else {
            throw VaultError(
                .usage,
                "a tag name has 1 to 100 letters, digits, '.', '_', '-' and '/', begins with a letter or digit, does "
                    + "not end with '.' or '/', has no '..' or '//', and is neither HEAD nor like a commit's id")
        }
        guard TagObject.isValidMessage(message) else {
            throw VaultError(
                .usage, "the message of a tag has at most \(Limits.tagMessage) characters and no control characters")
        }
        let lock = try lock()
        let state = try loadState()
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "make tags")
        let view = try tagView(state.index)
        let reader = TagReader(vault: self, index: state.index)
        let old = try view.live(named: name).map { (entry) throws(VaultError) in try reader.look(at: entry) }
        try checkFree(name, old: old, state.index, force: force)
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let target = try RevisionResolver(vault: self, state: state, graph: graph).resolve(revision ?? "HEAD")
        let entry = try sign(name, target, message, state, after: priorTime(name, view), scratch: lock.scratch)
        try put(PendingTag(entry: entry, replaces: replaced(name, state.index)), view, lock.scratch)
        return TagCreation(tag: try reader.tag(entry, isPushed: false), oldTarget: old?.target)
    }

    private func checkFree(
        _ name: String, old: TagInfo?, _ index: BranchIndex, force: Bool
    ) throws(VaultError) {
        guard !index.carriesTag(named: name) else {
            throw VaultError(
                .nameTaken, "the vault has a tag '\(name)' that this version can not read", hint: "use another name")
        }
        guard let old, !force else { return }
        let place = old.target.map { ", which names \($0.text)" } ?? ""
        throw VaultError(
            .nameTaken, "there is a tag '\(name)' already\(place)", hint: "vaultctl tag -f \(name)",
            object: old.id?.text)
    }

    /// Makes the object of a tag, durable when this returns.
    private func sign(
        _ name: String, _ target: ObjectID, _ message: String, _ state: CloneState, after prior: Int64,
        scratch: ScratchArea
    ) throws -> TagEntry {
        guard let branch = state.cloneBranch, let keyID = branch.publicKeyID else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own to sign with", hint: "clone again")
        }
        guard let key = try signingKey(branch) else {
            throw VaultError(
                .keyMissing, "this clone's signing key local/\(keyID.text).pem is not here, and a tag is always signed",
                hint: "tag from the clone that holds the key, or from a new one")
        }
        let time = max(commitTimeMs(), prior)
        let random = environment.random
        let cipher = cipher
        let sealed = try decoding("making a tag") { () throws(FormatError) in
            var tag = TagObject(
                name: name, commitID: target, message: message, taggerBranch: branch.branchID, taggerKeyID: keyID,
                timestampMs: time)
            try tag.sign(with: key)
            let plaintext = tag.encode()
            return try cipher.sealRandom(plaintext.span, random: random)
        }
        let batch = newBatch(width: state.idWidth, scratch: scratch)
        let id = try batch.add(sealed)
        try batch.commit()
        return TagEntry(name: name, tagID: id, isDeleted: false, timestampMs: time)
    }

    /// The earliest time at which a new entry stands against those there are (spec 02 §10).
    ///
    /// One that is dated too far ahead to count is not outbid: that would date the new one ahead as well.
    private func priorTime(_ name: String, _ view: TagView) -> Int64 {
        let horizon = environment.clock.nowMs + Limits.tagClockSkewMs
        let times = [view.index.tag(named: name), view.change(of: name)?.entry].compactMap { $0?.timestampMs }
        return times.filter { $0 <= horizon }.map { $0 + 1 }.max() ?? 0
    }

    /// The tag object that the index has under a name.
    private func replaced(_ name: String, _ index: BranchIndex) -> ObjectID? {
        index.tag(named: name).flatMap { $0.isDeleted ? nil : $0.tagID }
    }

    private func put(_ change: PendingTag, _ view: TagView, _ scratch: ScratchArea) throws(VaultError) {
        try PendingTag.record(
            view.pending.filter { $0.entry.name != change.entry.name } + [change], files, scratch: scratch)
    }

    // MARK: Deleting

    /// Deletes a tag; one that others know is deleted for them with the next push, and stays so (spec 02 §10).
    ///
    /// - Throws: `revisionNotFound` when there is none, `readOnlyClone`.
    public func deleteTag(_ name: String) throws -> TagDeletion {
        try requireWritable("delete a tag")
        let lock = try lock()
        let state = try loadState()
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "delete tags")
        let view = try tagView(state.index)
        guard let entry = view.live(named: name) else { throw Self.noTag(name) }
        let target = try TagReader(vault: self, index: state.index).look(at: entry).target
        if view.change(of: name) != nil {
            try PendingTag.record(view.pending.filter { $0.entry.name != name }, files, scratch: lock.scratch)
            let isLeft = state.index.tag(named: name)?.isDeleted == false
            return TagDeletion(name: name, outcome: isLeft ? .restored : .removed, target: target)
        }
        let tombstone = TagEntry(
            name: name, tagID: entry.tagID, isDeleted: true,
            timestampMs: max(commitTimeMs(), priorTime(name, view)))
        try put(PendingTag(entry: tombstone, replaces: entry.tagID), view, lock.scratch)
        return TagDeletion(name: name, outcome: .deleted, target: target)
    }
}
