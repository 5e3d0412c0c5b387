internal import VaultFormat

/// Finds commits by the ways people name them (spec 10 A.6, B.12): `HEAD`, `@`, `REV~n`, `REV^n`, `@{n}`, ids,
/// unique prefixes of at least four hex digits, branch names, `REMOTE/BRANCH`.
struct RevisionResolver {
    let vault: Vault
    let state: CloneState
    let graph: CommitGraph

    /// The commit a revision names.
    ///
    /// - Throws: `revisionNotFound`, also when it is ambiguous.
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
        guard let count = digits.isEmpty ? 1 : Int(digits), count <= 1_000_000 else { return nil }
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
            guard try vault.store.holds(id), (try? graph.commit(id)) != nil else { throw Self.notFound(whole) }
            return id
        }
        if let id = try branchHead(text) { return id }
        if let id = try prefix(text, whole: whole) { return id }
        throw Self.notFound(whole)
    }

    /// `@{n}` or `HEAD@{n}`: where the head was n moves ago.
    private func reflogEntry(_ text: String) throws(VaultError) -> ObjectID? {
        let body = text.hasPrefix("HEAD@{") ? text.dropFirst(6) : text.hasPrefix("@{") ? text.dropFirst(2) : ""
        guard body.hasSuffix("}"), let count = Int(body.dropLast()), count >= 0 else { return nil }
        let moves = try Reflog(files: vault.files).entries().filter { $0.ref == state.headRef }
        guard count < moves.count else { throw Self.notFound(text) }
        return moves[moves.count - 1 - count].new
    }

    private func branchHead(_ text: String) throws(VaultError) -> ObjectID? {
        if let slash = text.firstIndex(of: "/") {
            let name = String(text[text.index(after: slash)...])
            guard let branch = state.index.branches.first(where: { $0.name == name && $0.type == .named }),
                let url = try address(of: String(text[..<slash]))
            else { return nil }
            return try vault.seenHead(at: vault.place(of: url), ref: branch.headRefID)?.commit
        }
        guard let branch = state.index.branches.first(where: { $0.name == text || $0.branchID.text == text }) else {
            return nil
        }
        if branch.branchID == state.namedBranch.branchID { return state.head }
        return try vault.refs.commit(of: branch.headRefID)
    }

    /// The address of a remote; `origin` is the default one where none has that name.
    private func address(of remote: String) throws(VaultError) -> String? {
        let remotes = try vault.savedRemotes()
        if let named = remotes.first(where: { $0.name == remote }) { return named.url }
        return remote == Vault.originName ? try vault.recordedServer() : nil
    }

    private func prefix(_ text: String, whole: String) throws(VaultError) -> ObjectID? {
        let hex = (text.hasPrefix("obj-cas-imm-") ? String(text.dropFirst(12)) : text).lowercased()
        guard (4...32).contains(hex.utf8.count),
            hex.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        // Trees and blobs never count: only what history reaches is looked at.
        let starts = [state.head, try vault.refs.commit(of: state.namedBranch.headRefID)].compactMap { $0 }
        let matches = try graph.ancestors(of: starts).filter { $0.hex.hasPrefix(hex) }
        guard matches.count < 2 else {
            throw VaultError(.revisionNotFound, "'\(whole)' is ambiguous: \(matches.count) commits begin with it")
        }
        return matches.first
    }

    static func notFound(_ text: String) -> VaultError {
        VaultError(.revisionNotFound, "no commit is named '\(text)'", hint: "vaultctl log")
    }
}
