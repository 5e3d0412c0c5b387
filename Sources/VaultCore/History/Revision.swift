internal import VaultFormat

/// Finds commits by the ways people name them (spec 10 A.6, B.12): `HEAD`, `@`, `REV~n`, `REV^n`, `@{n}`, ids,
/// unique prefixes of at least four hex digits, tags, branch names, `REMOTE/BRANCH`.
struct RevisionResolver {
    let vault: Vault
    let state: CloneState
    let graph: CommitGraph

    /// The longest chain of parents a `~n` may ask for.
    private static let longestStep = 1_000_000

    /// The commit a revision names.
    ///
    /// - Throws: `revisionNotFound`, also when it is ambiguous; `signatureBad` for a tag that does not verify.
    func resolve(_ text: String) throws(VaultError) -> ObjectID {
        var base = text[...]
        var steps: [(Character, Int)] = []
        while let step = Self.lastStep(base) {
            steps.append((step.kind, step.count))
            base = base[..<step.start]
        }
        var id = try resolveBase(base.isEmpty ? "HEAD" : String(base), whole: text)
        for (kind, count) in steps.reversed() {
            if kind == "~" {
                for _ in 0..<count {
                    guard let parent = try graph.parents(id).first else { throw Self.notFound(text) }
                    id = parent
                }
            } else if count > 0 {
                let parents = try graph.parents(id)
                guard count <= parents.count else { throw Self.notFound(text) }
                id = parents[count - 1]
            }
        }
        return id
    }

    /// A final `~n` or `^n`; the number defaults to 1.
    private static func lastStep(_ text: Substring) -> (kind: Character, count: Int, start: Substring.Index)? {
        guard let start = text.lastIndex(where: { $0 == "~" || $0 == "^" }) else { return nil }
        let digits = text[text.index(after: start)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        guard let count = digits.isEmpty ? 1 : Int(digits), count <= longestStep else { return nil }
        return (text[start], count, start)
    }

    private func resolveBase(_ text: String, whole: String) throws(VaultError) -> ObjectID {
        if text == "HEAD" || text == "@" {
            guard let head = state.head else {
                throw VaultError(.revisionNotFound, "this branch has no commits yet")
            }
            return head
        }
        if let id = try reflogEntry(text) { return id }
        if let id = try? ObjectID(text) {
            guard try vault.store.holds(id), (try? graph.tree(of: id)) != nil else { throw Self.notFound(whole) }
            return id
        }
        if text.hasPrefix("tag:") {
            guard let entry = try liveTag(String(text.dropFirst(4))) else { throw Self.notFound(whole) }
            return try commit(of: entry)
        }
        if text.contains("/"), let id = try remoteBranchHead(text) {
            guard try liveTag(text) == nil else {
                throw Self.ambiguous(whole, "a tag and a remote's branch", hint: "tag:\(text)")
            }
            return id
        }
        return try named(text, whole: whole)
    }

    /// What a plain word names, as a branch, a tag or the beginning of an id; one of these only.
    private func named(_ text: String, whole: String) throws(VaultError) -> ObjectID {
        let tag = try liveTag(text)
        let branches = branches(named: text)
        let commits = try commits(startingWith: text)
        let meanings =
            (tag == nil ? [] : ["a tag"]) + (branches.isEmpty ? [] : ["a branch"])
            + (commits.isEmpty ? [] : ["the beginning of a commit's id"])
        guard meanings.count < 2 else {
            let hint = tag != nil ? "tag:\(text)" : branches.first.map(\.branchID.text)
            throw Self.ambiguous(whole, meanings.joined(separator: " and "), hint: hint)
        }
        if let tag { return try commit(of: tag) }
        if let branch = branches.first {
            guard branches.count == 1 else { throw Self.ambiguous(whole, "\(branches.count) branches") }
            guard let head = try vault.localHead(of: branch, state) else {
                throw VaultError(.revisionNotFound, "the branch '\(text)' has no commits in this clone")
            }
            return head
        }
        guard let found = commits.first else { throw Self.notFound(whole) }
        guard commits.count == 1 else { throw Self.ambiguous(whole, "the beginning of \(commits.count) commits' ids") }
        return found
    }

    /// `@{n}` or `HEAD@{n}`: where the head was n moves ago.
    private func reflogEntry(_ text: String) throws(VaultError) -> ObjectID? {
        let body = text.hasPrefix("HEAD@{") ? text.dropFirst(6) : text.hasPrefix("@{") ? text.dropFirst(2) : ""
        guard body.hasSuffix("}"), let count = Int(body.dropLast()), count >= 0 else { return nil }
        let moves = try Reflog(files: vault.files).history(of: state.headRef)
        guard count < moves.count else { throw Self.notFound(text) }
        guard let move = moves[count] else {
            throw VaultError(
                .revisionNotFound, "what '\(text)' names can not be told: its line in \(Reflog.path) does not read",
                hint: "vaultctl reflog shows the others, which keep their numbers", path: Reflog.path)
        }
        return move.new
    }

    // MARK: branches

    /// Branches of a name or id; those of clones, whose names repeat, only where no named one has it.
    private func branches(named text: String) -> [BranchRecord] {
        let all = state.index.branches.filter { $0.name == text || $0.branchID.text == text }
        let named = all.filter { $0.type == .named }
        return named.isEmpty ? all : named
    }

    /// `origin/current`: the head of a remote's branch when it was last seen.
    private func remoteBranchHead(_ text: String) throws(VaultError) -> ObjectID? {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        let name = String(text[text.index(after: slash)...])
        guard let branch = state.index.branches.first(where: { $0.name == name && $0.type == .named }),
            let url = try address(of: String(text[..<slash]))
        else { return nil }
        return try vault.seenHead(at: vault.place(of: url), ref: branch.headRefID)?.commit
    }

    /// The head that this clone's branch had at a remote when it was last seen.
    /// - Throws: `remoteNotFound` when there is no such remote or it was never read.
    func remoteHead(_ name: String) throws(VaultError) -> ObjectID {
        guard let url = try address(of: name) else {
            throw VaultError(.remoteNotFound, "there is no remote '\(name)'", hint: "vaultctl remote")
        }
        guard let head = try vault.seenHead(at: vault.place(of: url), ref: state.namedBranch.headRefID)?.commit else {
            throw VaultError(
                .remoteNotFound, "the branch '\(state.namedBranch.name)' of the remote '\(name)' was never read",
                hint: "vaultctl fetch")
        }
        return head
    }

    /// The address of a remote; `origin` is the default one where none has that name.
    private func address(of remote: String) throws(VaultError) -> String? {
        let remotes = try vault.savedRemotes()
        if let named = remotes.first(where: { $0.name == remote }) { return named.url }
        return remote == Vault.originName ? try vault.recordedServer() : nil
    }

    // MARK: tags

    /// The tag that a revision is, by name or as `tag:NAME`; nil when it is something else.
    func tag(_ text: String) throws(VaultError) -> TagInfo? {
        let name = text.hasPrefix("tag:") ? String(text.dropFirst(4)) : text
        guard text != "HEAD", let entry = try liveTag(name) else { return nil }
        let isPushed = try vault.tagView(state.index).change(of: name) == nil
        return try TagReader(vault: vault, index: state.index).tag(entry, isPushed: isPushed)
    }

    private func liveTag(_ name: String) throws(VaultError) -> TagEntry? {
        try vault.tagView(state.index).live(named: name)
    }

    /// The commit of a tag that verifies; others are not followed (spec 02 §10).
    private func commit(of entry: TagEntry) throws(VaultError) -> ObjectID {
        let found = try TagReader(vault: vault, index: state.index).tag(entry)
        guard found.signature == .verified, let target = found.target else {
            throw VaultError(
                .signatureBad, "the tag '\(entry.name)' is not followed: its signature is \(found.signature.rawValue)",
                object: found.id?.text)
        }
        return target
    }

    // MARK: prefixes

    /// The commits that a prefix of at least four hex digits begins.
    private func commits(startingWith text: String) throws(VaultError) -> [ObjectID] {
        let hex = (text.hasPrefix("obj-cas-imm-") ? String(text.dropFirst(12)) : text).lowercased()
        guard (4...32).contains(hex.utf8.count),
            hex.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return [] }
        let candidates = try vault.store.allIDs().filter { $0.hex.hasPrefix(hex) && (try? graph.tree(of: $0)) != nil }
        guard !candidates.isEmpty else { return [] }
        // Trees and blobs never count, whatever they look like: only what history reaches is a commit.
        var starts = [state.head].compactMap { $0 }
        for branch in state.index.branches {
            if let head = try vault.refs.commit(of: branch.headRefID), try vault.store.holds(head) {
                starts.append(head)
            }
        }
        let found = try Self.reachable(candidates, from: starts, graph)
        // What only a deleted branch or a step back led to, where nothing else has these digits.
        return try found.isEmpty ? Self.reachable(candidates, from: formerHeads(), graph) : found
    }

    private static func reachable(
        _ candidates: [ObjectID], from starts: [ObjectID], _ graph: CommitGraph
    ) throws(VaultError) -> [ObjectID] {
        let reachable = AncestorSet(graph: graph, of: Array(Set(starts)))
        var found: [ObjectID] = []
        for id in candidates.sorted() where try reachable.contains(id) { found.append(id) }
        return found
    }

    /// Where refs are that no branch has any more, and where the head has been.
    private func formerHeads() throws(VaultError) -> [ObjectID] {
        var heads = Set(
            ((try? Reflog(files: vault.files).entries()) ?? []).flatMap { [$0.old, $0.new].compactMap { $0 } })
        for ref in try vault.storedRefs() {
            // One that does not read names nothing.
            if let head = try? vault.refs.commit(of: ref) { heads.insert(head) }
        }
        var held: [ObjectID] = []
        for id in heads where try vault.store.holds(id) { held.append(id) }
        return held
    }

    static func notFound(_ text: String) -> VaultError {
        VaultError(.revisionNotFound, "no commit is named '\(text)'", hint: "vaultctl log")
    }

    private static func ambiguous(_ text: String, _ meanings: String, hint: String? = nil) -> VaultError {
        VaultError(
            .revisionNotFound, "'\(text)' is ambiguous: it is \(meanings)",
            hint: hint.map { "write \($0)" } ?? "vaultctl log")
    }
}
