public import VaultFormat
internal import VaultSystem

/// Why a path is, or is not, left out of commits.
public struct IgnoreVerdict: Sendable, Equatable {
    /// The path.
    public var path: VaultPath
    /// Whether a commit leaves it out.
    public var isIgnored: Bool
    /// The head has it, so that no rule applies to it.
    public var isTracked: Bool
    /// The rule: a line of `.gitignore`, or what is built in.
    public var rule: String?
    /// Where the rule stands: `.gitignore:3`, `built-in` or `rm --cached`.
    public var source: String?
}

/// One rule by which untracked files are left alone.
public struct IgnoreRule: Sendable, Equatable {
    /// The rule.
    public var rule: String
    /// Where it stands.
    public var source: String
}

extension Vault {
    /// Tells for each path whether a commit leaves it out, and why (spec 03 §6).
    public func ignoreVerdicts(_ paths: [VaultPath]) throws -> [IgnoreVerdict] {
        let state = try loadState()
        let (rules, tracked) = try ignoreRules(state)
        let leftOut = try leftOut(state)
        return try paths.map { path in
            var verdict = IgnoreVerdict(path: path, isIgnored: false, isTracked: false)
            verdict.isTracked = tracked.position(of: path.bytes).found || tracked.hasEntries(below: path.bytes)
            if leftOut.contains(path) {
                (verdict.isIgnored, verdict.rule, verdict.source) = (true, path.description, "rm --cached")
                return verdict
            }
            guard !verdict.isTracked else { return verdict }
            var folder: VaultPath?
            for segment in path.parent?.segments ?? [] {
                let whole = folder.map { $0.child(segment) } ?? VaultPath(unchecked: segment)
                if let reason = rules.reasonForFolder(whole.bytes) {
                    Self.tell(reason, whole.bytes, &verdict)
                    return verdict
                }
                folder = whole
            }
            let isFolder = mode == .full ? try kind(path) == .directory : false
            let reason = isFolder ? rules.reasonForFolder(path.bytes) : rules.reasonForFile(path.bytes)
            if let reason { Self.tell(reason, path.bytes, &verdict) }
            return verdict
        }
    }

    /// The rules that apply here, the built-in ones first.
    public func ignoreRules() throws -> [IgnoreRule] {
        let state = try loadState()
        let (rules, _) = try ignoreRules(state)
        let builtIn = IgnoreRules.builtIn
        let names =
            builtIn.files + builtIn.folders.map { "\($0)/" } + builtIn.exceptions.map { "!\($0)" }
        let leftOut = try leftOut(state)
        return names.map { IgnoreRule(rule: $0, source: "built-in") }
            + rules.lines.map { IgnoreRule(rule: $0.text, source: ".gitignore:\($0.number)") }
            + leftOut.pending.union(leftOut.untracked).sorted().map {
                IgnoreRule(rule: $0.description, source: "rm --cached")
            }
    }

    func ignoreRules(_ state: CloneState) throws -> (rules: IgnoreRules, tracked: StatCache) {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let tracked = try trackedFiles(
            of: state.head, graph: graph, trees: treeReader())
        let scanner = try Scanner(root: layout.root, tracked: tracked, environment: environment)
        return (scanner.rules, tracked)
    }

    private static func tell(_ reason: IgnoreRules.Reason, _ path: [UInt8], _ verdict: inout IgnoreVerdict) {
        let name = PathQuoting.text(Array(path.split(separator: UInt8(ascii: "/")).last ?? []))
        verdict.isIgnored = true
        switch reason {
        case .protectedPath, .secretName: (verdict.rule, verdict.source) = (name, "built-in")
        case .toolFolder: (verdict.rule, verdict.source) = ("\(name)/", "built-in")
        case .pattern(let line, let text): (verdict.rule, verdict.source) = (text, ".gitignore:\(line)")
        }
    }
}
