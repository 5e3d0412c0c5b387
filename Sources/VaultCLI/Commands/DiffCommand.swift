internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl diff`.
enum DiffCommand {
    static let stat = OptionSpec.flag("--stat", help: "how many lines differ in each file")
    static let nameOnly = OptionSpec.flag("--name-only", help: "only the paths")
    static let nameStatus = OptionSpec.flag("--name-status", help: "only the paths, each with its mark A, M, D or R")
    static let context = OptionSpec.value(
        "-U", "--unified", argument: "N", help: "N equal lines around differences (3)")
    static let binaryAsHash = OptionSpec.flag(
        "--binary-as-hash", help: "tell size and SHA-256 of what is no text")
    static let exitCode = OptionSpec.flag("--exit-code", help: "exit 1 when something differs")
    static let zero = OptionSpec.flag(
        "-z", help: "paths with NUL after each and no quoting; of a renamed file the new one and the old one")

    static let verb = Verb(
        words: ["diff"], group: .work, summary: "show what differs between two states of the files",
        paragraph: """
            Without a revision compares the head with the working copy, as a commit would record it: new files are part \
            of it. With one revision compares that with the working copy, with two or A..B one with the other, with \
            A...B their merge base with B, with --remote NAME the head that this remote had when it was last seen with the \
            working copy; nothing is asked of it. The text is a patch that 'git apply' and 'patch -p1' take; paths start from \
            the vault's root. Text is valid UTF-8 without NUL; of anything else, and of texts over 8 MiB, only that they \
            differ is told. A file that is gone and a new one with exactly its content are told as renamed. On a terminal \
            control characters of files are spelled out.
            """,
        synopsis: [
            "diff [--stat | --name-only | --name-status] [-z] [-U N] [--binary-as-hash] [--exit-code] [A [B] | A..B] "
                + "[-- PATH...]",
            "diff --remote NAME [OPTION]... [-- PATH...]",
        ],
        options: [stat, nameOnly, nameStatus, context, binaryAsHash, exitCode, zero],
        positionals: [
            Positional("A", help: "a revision, or a range", completion: .revision),
            Positional("B", help: "a revision", completion: .revision),
            Positional(
                "PATH", help: "after '--': only what is at or below PATH", repeatable: true, afterSeparator: true,
                completion: .vaultPath),
        ],
        exits: [
            .init(.ok), .init(.negative, "with --exit-code: something differs"), .init(.notFound), .init(.auth),
            .init(.integrity), .init(.refused, "a bare clone has no working copy"),
        ],
        examples: [
            .init("vaultctl diff", "What a commit would record."),
            .init("vaultctl diff --stat HEAD~5..HEAD -- docs", "How much the last five commits changed in 'docs'."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/diff/1",
            "from, to, files[\(filesMembers)], totals{files, added, modified, deleted, renamed, lines_added, lines_removed}"
        ),
        pages: true, action: .local { call in try run(call) })

    /// The members of each file here, of a commit that `show` tells and of one of `log` with --stat or -p.
    static let filesMembers =
        "{path, status, old_path, binary, too_large, size_before, size_after, sha256_before, sha256_after, "
        + "lines_added, lines_removed, patch}"

    private static func run(_ call: Call) throws -> ExitCode {
        let style = try style(call)
        let context = try call.number(context, least: 0)
        let subject = try subject(call)
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        var options = DiffOptions(subject: subject, paths: try typed.paths(call.arguments.separated) ?? [])
        options.detail = style.detail
        if let context { options.context = context }
        if call.isJSON { return try answer(call, vault, options, withPatch: style.form == .patch) }
        let text = TextRenderer(call: call)
        let teller = DiffTeller(text, try Lines(text), style)
        try call.completing(vault) { try teller.tell { body in try vault.diff(options, body) } }
        return call.has(exitCode) && teller.count > 0 ? .negative : .ok
    }

    private static func subject(_ call: Call) throws -> DiffOptions.Subject {
        let revisions = try call.arguments.positionals.map { try call.revision($0) }
        guard let remote = try call.text(GlobalOptions.remote) else {
            return switch revisions.count {
            case 0: .workingCopy
            case 1: .since(revisions[0])
            default: .revisions(revisions[0], revisions[1])
            }
        }
        guard revisions.isEmpty else { throw Usage.error("'--remote' takes no revision", about: [call.verb]) }
        return .remote(remote)
    }

    private static func style(_ call: Call) throws -> DiffStyle {
        let given = [stat, nameOnly, nameStatus].filter { call.has($0) }
        guard given.count < 2 else {
            throw Usage.error("only one of \(Usage.list(given.map(\.name))) can be given", about: [call.verb])
        }
        var style = DiffStyle(form: .patch, showsStat: call.has(stat), hashesBinary: call.has(binaryAsHash))
        if style.showsStat { style.form = nil }
        if call.has(nameOnly) { style.form = call.has(zero) ? .zeroOnly : .nameOnly }
        if call.has(nameStatus) { style.form = call.has(zero) ? .zeroStatus : .nameStatus }
        if call.has(zero), given.isEmpty { style.form = .zeroStatus }
        if call.has(zero), style.showsStat {
            throw Usage.error("'-z' goes with '--name-only' or '--name-status'", about: [call.verb])
        }
        return style
    }

    private static func answer(
        _ call: Call, _ vault: Vault, _ options: DiffOptions, withPatch: Bool
    ) throws -> ExitCode {
        var files: [JSONValue] = []
        var stat = DiffStat()
        stat.keepsRows = false
        let ends = try call.completing(vault) {
            try vault.diff(options) { file in
                try call.checkStop()
                stat.add(file)
                files.append(file.jsonValue(withPatch: withPatch))
                return true
            }
        }
        let exit: ExitCode = call.has(exitCode) && !files.isEmpty ? .negative : .ok
        let members: [JSONMember] = .record([
            "from": .id(ends.from), "to": .id(ends.to), "files": .array(files), "totals": stat.jsonValue,
        ])
        try call.output.write(JSONDocument.result(schema: call.verb.document.schema, exit: exit, members: members))
        return exit
    }
}
