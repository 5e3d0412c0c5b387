/// What a vault with clones and a remote must be like, said in a few words: files are paths with bytes, commits are
/// files with parents.
///
/// It knows nothing of trees, blobs, refs or caches. Commits are called by the names that the caller gives.
package struct VaultModel: Sendable {
    package typealias Files = [String: String]

    package struct Commit: Sendable, Equatable {
        package var parents: [String]
        package var files: Files
    }

    package struct Clone: Sendable, Equatable {
        package var head: String
        package var working: Files
    }

    /// What an operation must answer.
    package enum Expected: Sendable, Equatable {
        /// Nothing to do.
        case nothing
        /// Success; the files of the commit it makes or moves to.
        case commit(parents: [String], files: Files, working: Files)
        case moved(to: String, working: Files)
        case pushed
        /// An error that changes nothing.
        case refused(String)
        /// A success, or a refusal that errs on the safe side: both are right.
        indirect case either(Expected, Expected)
    }

    package var commits: [String: Commit]
    package var clones: [String: Clone]
    package var remote: String

    package init(root: String, files: Files, clones: [String]) {
        commits = [root: Commit(parents: [], files: files)]
        remote = root
        self.clones = [:]
        for name in clones { self.clones[name] = Clone(head: root, working: files) }
    }

    package func files(_ commit: String) -> Files { commits[commit]?.files ?? [:] }

    package func ancestors(_ commit: String) -> Set<String> {
        var found: Set<String> = []
        var pending = [commit]
        while let next = pending.popLast() {
            if found.insert(next).inserted { pending += commits[next]?.parents ?? [] }
        }
        return found
    }

    /// Whether a path is at, above or below another one.
    private static func overlap(_ one: String, _ other: String) -> Bool {
        one == other || one.hasPrefix(other + "/") || other.hasPrefix(one + "/")
    }

    /// Whether one path is strictly above the other.
    private static func clash(_ one: String, _ other: String) -> Bool { one != other && overlap(one, other) }

    private static func isConsistent(_ files: Files) -> Bool {
        let paths = files.keys.sorted()
        for (position, path) in paths.enumerated() {
            for other in paths[(position + 1)...] where clash(path, other) { return false }
        }
        return true
    }

    /// Paths that differ.
    private static func differences(_ one: Files, _ other: Files) -> Set<String> {
        Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }
    }

    // MARK: The working copy

    /// An editor writes a file; what stands at, above or below its path goes.
    package mutating func put(_ content: String, at path: String, in clone: String) {
        guard var state = clones[clone] else { return }
        for other in state.working.keys where Self.overlap(other, path) { state.working[other] = nil }
        state.working[path] = content
        clones[clone] = state
    }

    package mutating func remove(_ path: String, in clone: String) {
        clones[clone]?.working[path] = nil
    }

    package func changes(_ clone: String) -> (added: Set<String>, modified: Set<String>, deleted: Set<String>) {
        guard let state = clones[clone] else { return ([], [], []) }
        let head = files(state.head)
        let differing = Self.differences(head, state.working)
        return (
            differing.filter { head[$0] == nil }, differing.filter { head[$0] != nil && state.working[$0] != nil },
            differing.filter { state.working[$0] == nil }
        )
    }

    // MARK: Operations

    /// * `path`: Only what is at or below it.
    package func commit(_ clone: String, path: String? = nil) -> Expected {
        guard let state = clones[clone] else { return .nothing }
        var result = files(state.head)
        for changed in Self.differences(result, state.working) {
            if let path, changed != path, !changed.hasPrefix(path + "/") { continue }
            result[changed] = state.working[changed]
        }
        if result == files(state.head) { return .nothing }
        let made = Expected.commit(parents: [state.head], files: result, working: state.working)
        // A part of a change from file to folder can not be committed alone.
        return Self.isConsistent(result) ? made : .either(made, .refused("inconsistent"))
    }

    package func write(_ content: String, at path: String, in clone: String) -> Expected {
        guard let state = clones[clone] else { return .nothing }
        let head = files(state.head)
        if head[path] == content { return .nothing }
        var result = head
        result[path] = content
        // Whether what is above or below gives way is not the model's to say, only that nothing is lost unseen.
        if head.keys.contains(where: { Self.clash($0, path) }) { return .refused("clash") }
        return move(state, to: result) { .commit(parents: [state.head], files: result, working: $0) }
    }

    package func push(_ clone: String) -> Expected {
        guard let state = clones[clone] else { return .nothing }
        if state.head == remote { return .nothing }
        return ancestors(state.head).contains(remote) ? .pushed : .refused("remote_moved")
    }

    package func pull(_ clone: String) -> Expected {
        guard let state = clones[clone] else { return .nothing }
        let ours = ancestors(state.head)
        if ours.contains(remote) { return .nothing }
        let theirs = ancestors(remote)
        if theirs.contains(state.head) {
            let target = remote
            return move(state, to: files(remote)) { .moved(to: target, working: $0) }
        }
        guard let base = bases(ours, theirs).first else { return .refused("no base") }
        guard let merged = merge(files(base), files(state.head), files(remote)) else { return .refused("conflicts") }
        let parents = [state.head, remote]
        return move(state, to: merged) { .commit(parents: parents, files: merged, working: $0) }
    }

    /// The youngest commits in both sets; with one remote there is one.
    private func bases(_ ours: Set<String>, _ theirs: Set<String>) -> [String] {
        let common = ours.intersection(theirs)
        return common.filter { commit in
            !common.contains { $0 != commit && ancestors($0).contains(commit) }
        }
    }

    private func merge(_ base: Files, _ ours: Files, _ theirs: Files) -> Files? {
        var result = ours
        for path in Self.differences(base, theirs) {
            if ours[path] == theirs[path] { continue }
            guard ours[path] == base[path] else { return nil }
            result[path] = theirs[path]
        }
        return Self.isConsistent(result) ? result : nil
    }

    /// What a move of the working copy does: every path that the move changes must hold what it was based on, or what
    /// it is to become; everything else stays.
    private func move(_ state: Clone, to target: Files, _ success: (Files) -> Expected) -> Expected {
        let head = files(state.head)
        var working = state.working
        let touched = Self.differences(head, target)
        for path in touched {
            let now = state.working[path]
            if target[path] == nil {
                // Nothing there is as good as removed.
                guard now == nil || now == head[path] else { return .refused("dirty_tree") }
                working[path] = nil
            } else {
                guard now == head[path] || now == target[path] else { return .refused("dirty_tree") }
                working[path] = target[path]
            }
        }
        // A file of the user's where a folder has to be, or the other way round.
        guard Self.isConsistent(working) else { return .refused("dirty_tree") }
        // A path whose content is the same under another blob is looked at too.
        let dirty = Self.differences(head, state.working).subtracting(touched)
        let result = success(working)
        return dirty.isEmpty ? result : .either(result, .refused("dirty_tree"))
    }

    // MARK: Recording

    package mutating func record(_ expected: Expected, in clone: String, commit: String?) {
        switch expected {
        case .nothing, .refused: break
        case .commit(let parents, let files, let working):
            guard let commit else { return }
            commits[commit] = Commit(parents: parents, files: files)
            clones[clone] = Clone(head: commit, working: working)
        case .moved(let target, let working): clones[clone] = Clone(head: target, working: working)
        case .pushed: if let head = clones[clone]?.head { remote = head }
        case .either(let first, _): record(first, in: clone, commit: commit)
        }
    }
}
