internal import VaultFormat
internal import VaultSystem

/// What a push does about tags.
struct TagPublication {
    /// This clone's index with the changes that are sent.
    var index: BranchIndex
    /// The tag objects that the remote needs for them.
    var objects: [ObjectID] = []
    /// What the remote will know that it did not.
    var changes: [TagChange] = []
    /// Tags made here that can not be sent yet, because the remote would lack their commit.
    var waiting: [String] = []
    /// Whether the remote's index says already what was changed here.
    var hasArrived = false

    var isEmpty: Bool { changes.isEmpty }

    /// Whether an index tells of all that was sent.
    func stands(in index: BranchIndex?) -> Bool {
        changes.allSatisfy { index?.tag(named: $0.name) == self.index.tag(named: $0.name) }
    }
}

/// Finds what a remote does not know of the tags that are known here.
struct TagPublisher {
    let vault: Vault
    let remote: any Remote
    let graph: CommitGraph

    /// Plans what is sent together with a branch.
    ///
    /// Tags do not move unless somebody moved them on purpose: a change that was made without knowing what the remote
    /// has under that name is refused, and so is one that a later change there has overtaken.
    ///
    /// * `local`: This clone's index, with what it knows of the remote's in it.
    /// * `there`: The remote's index.
    /// * `heads`: Commits that are there with all they reach once the push is done.
    /// - Throws: `nameTaken`, or what the remote throws.
    func plan(
        _ local: BranchIndex, onto there: BranchIndex?, heads: [ObjectID]
    ) async throws -> TagPublication {
        let pending = try vault.pendingTags()
        var plan = TagPublication(index: local)
        if pending.isEmpty, local.tags == there?.tags ?? [] { return plan }
        for change in pending {
            try checkSeen(change, there)
            plan.index.tags.removeAll { $0.name == change.entry.name }
            plan.index.tags.append(change.entry)
        }
        let merged = BranchIndex.merged(
            local: plan.index, remote: there ?? BranchIndex(), nowMs: vault.environment.clock.nowMs)
        for change in pending where !change.stands(in: merged) { throw taken(change.entry.name) }
        plan.hasArrived = pending.contains { $0.stands(in: there) }
        let unsent = try await addChanges(to: &plan, merged, there, heads)
        plan.index.tags.removeAll { unsent.contains($0.name) }
        plan.waiting = pending.map(\.entry.name).filter(unsent.contains).sorted()
        return plan
    }

    private func checkSeen(_ change: PendingTag, _ there: BranchIndex?) throws(VaultError) {
        guard let there else { return }
        guard !there.carriesTag(named: change.entry.name) else { throw taken(change.entry.name) }
        guard let found = there.tag(named: change.entry.name), !found.isDeleted, found != change.entry,
            found.tagID != change.replaces
        else { return }
        throw taken(change.entry.name)
    }

    private func taken(_ name: String) -> VaultError {
        VaultError(
            .nameTaken,
            "\(remote.location) has a change of the tag '\(name)' that was not known here when yours was made",
            hint: "look at it with vaultctl fetch, then drop yours with tag -d \(name) or make it again with tag -f",
            object: name)
    }

    /// - Returns: The names of tags that are not sent.
    private func addChanges(
        to plan: inout TagPublication, _ merged: BranchIndex, _ there: BranchIndex?, _ heads: [ObjectID]
    ) async throws -> Set<String> {
        let reader = TagReader(vault: vault, index: merged)
        let known = there?.tagsByName ?? [:]
        let reached = AncestorSet(graph: graph, of: heads)
        var asked: [(tag: TagInfo, old: TagEntry?)] = []
        var unsent: Set<String> = []
        func add(_ tag: TagInfo, _ old: TagEntry?) {
            if let id = tag.id { plan.objects.append(id) }
            let kind: TagChange.Kind = old?.isDeleted == false ? .moved : .added
            plan.changes.append(TagChange(name: tag.name, kind: kind, target: tag.target))
        }
        for entry in merged.tags {
            let old = known[entry.name]
            guard entry != old else { continue }
            guard !entry.isDeleted else {
                if old?.isDeleted == false {
                    plan.changes.append(TagChange(name: entry.name, kind: .deleted, target: nil))
                }
                continue
            }
            let tag = try reader.look(at: entry)
            guard let target = tag.target else {
                unsent.insert(entry.name)
                continue
            }
            if try vault.store.holds(target), try reached.contains(target) {
                add(tag, old)
            } else {
                asked.append((tag, old))
            }
        }
        if asked.isEmpty { return unsent }
        let found = try await remote.readAll(Set(asked.compactMap(\.tag.target)).sorted().map { .object($0) })
        for (tag, old) in asked {
            if let target = tag.target, case .content? = found[.object(target)] {
                add(tag, old)
            } else {
                unsent.insert(tag.name)
            }
        }
        plan.changes.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return unsent
    }
}
