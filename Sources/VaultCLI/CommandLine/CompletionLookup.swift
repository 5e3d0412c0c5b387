internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Answers `vaultctl __complete -- WORD...`, which the completion scripts call: candidates for the last word, one per
/// line.
///
/// Internal, without the network, and without any question or error: when nothing is known, nothing is offered.
struct CompletionLookup {
    let surroundings: Surroundings
    let table: VerbTable

    static let word = Array("__complete".utf8)

    /// Writes the candidates.
    func run(_ words: [[UInt8]]) -> Int32 {
        let words = words.first == Array("--".utf8) ? Array(words.dropFirst()) : words
        let engine = CompletionEngine(table: table) { kind, prefix in
            (try? candidates(kind, prefix, words)) ?? []
        }
        let output = Output(sink: surroundings.standardOutput)
        for candidate in engine.candidates(words) where !candidate.word.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            let help = candidate.help.map { "\t\($0)" } ?? ""
            try? output.write(candidate.word + Array(help.utf8) + [UInt8(ascii: "\n")])
        }
        try? output.flush()
        return ExitCode.ok.rawValue
    }

    private func candidates(
        _ kind: CompletionKind, _ prefix: [UInt8], _ words: [[UInt8]]
    ) throws -> [CompletionEngine.Candidate] {
        let call = call(words)
        if kind == .keyPair || kind == .knownKey { return try keys(kind, call, words) }
        guard let vault = try open(call) else { return [] }
        switch kind {
        case .vaultPath: return try paths(vault, call, prefix)
        case .revision:
            let branch = try vault.info().branch
            return [.init("HEAD", "the last commit"), .init(branch, "branch"), .init("origin/\(branch)", "remote")]
                + (try vault.tagNames().map { .init($0, "tag") })
        case .remote: return try vault.remotes().map { .init($0.name, TextSafety.line($0.url)) }
        default: return []
        }
    }

    /// The call that the words will be; only where it takes place matters.
    private func call(_ words: [[UInt8]]) -> Call {
        var arguments = ParsedArguments()
        for (option, flag) in [
            (GlobalOptions.directory, "-C"), (GlobalOptions.vaultDirectory, "--vault-dir"), (PkiCommand.home, "--home"),
        ] {
            let values = zip(words, words.dropFirst()).filter { $0.0 == Array(flag.utf8) }.map(\.1)
            if !values.isEmpty { arguments.values[option.name] = values }
        }
        return Call(
            verb: CompletionCommand.verb, arguments: arguments, surroundings: surroundings,
            output: Output(sink: surroundings.standardOutput),
            messages: Messages(sink: surroundings.standardError, isQuiet: true, givesAdvice: false))
    }

    /// Opens the vault when its read key is at hand without a derivation, which would take too long here.
    private func open(_ call: Call) throws -> Vault? {
        let root = try VaultPlace.root(for: call)
        let local = root.appending(".sg_vault/local")
        let fileSystem = surroundings.vault.fileSystem
        let ready = ["vaultctl/derived-keys", "clone_mode.json"].contains { name in
            (try? fileSystem.status(of: local.appending(FilePath(name)), followLinks: false)) != nil
        }
        guard ready else { return nil }
        return try Vault.open(root: root, options: OpenOptions(lockTimeout: 0), environment: surroundings.vault)
    }

    private func paths(_ vault: Vault, _ call: Call, _ prefix: [UInt8]) throws -> [CompletionEngine.Candidate] {
        let cut = prefix.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let head = Array(prefix[..<cut])
        let folder = try PathArgument(call: call, root: vault.rootPath).path(head.isEmpty ? Array(".".utf8) : head)
        return try vault.list(folder, recursive: false, revision: nil).map { entry in
            let start = entry.path.bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
            let mark: [UInt8] = entry.kind == .folder ? [UInt8(ascii: "/")] : []
            return .init(bytes: head + entry.path.bytes[start...] + mark)
        }
    }
}
