internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl resolve`.
enum ResolveCommand {
    static let list = OptionSpec.flag("--list", help: "tell what conflicts; the default without PATH")
    static let show = OptionSpec.value(
        "--show", argument: "SIDE", help: "print PATH as it is on one side: base, ours or theirs")
    static let ours = OptionSpec.flag("--ours", help: "take this clone's side, deletion included")
    static let theirs = OptionSpec.flag("--theirs", help: "take the other side, deletion included")
    static let union = OptionSpec.flag("--union", help: "take the lines of both sides")
    static let mark = OptionSpec.flag("--mark", help: "take what the working copy holds; the default with PATH")
    static let file = OptionSpec.value(
        "--file", argument: "FILE", help: "take the content of FILE, or of standard input with '-'", completion: .file)
    static let all = OptionSpec.flag("--all", help: "every path that conflicts still")

    static let verb = Verb(
        words: ["resolve"], group: .branches, summary: "decide the conflicts of a merge",
        paragraph: """
            Tells what conflicts in the merge in progress, or decides it: the chosen content goes into the working copy \
            and the copy NAME.conflict is removed. When nothing conflicts any more, vaultctl merge --continue commits. \
            Nothing is lost by a decision: each side stays in its own commit.
            """,
        synopsis: [
            "resolve [--list]", "resolve --show base|ours|theirs PATH",
            "resolve [--ours|--theirs|--union|--mark] [--all] [PATH]...", "resolve --file FILE PATH",
        ],
        options: [list, show, ours, theirs, union, mark, file, all],
        positionals: [
            Positional("PATH", help: "a path that conflicts", repeatable: true, completion: .vaultPath)
        ],
        exits: [
            .init(.ok), .init(.negative, "no merge is in progress"), .init(.notFound, "PATH does not conflict"),
            .init(.auth), .init(.integrity),
            .init(.refused, "a union of what is no text, or files that nobody tracks are in the way"),
        ],
        examples: [
            .init("vaultctl resolve --theirs notes/plan.md", "Takes the other side's file."),
            .init("vaultctl resolve --mark notes/plan.md", "Takes the file as edited by hand."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/resolve/1",
            "conflicts[{path,kind,base{blob_id,size},ours{},theirs{},verdict,resolved}], left; with --show and --json: "
                + "path, side, size, data_b64"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        let paths = try call.arguments.allPositionals.map { try typed.file($0) }
        if let side = call.arguments.last(show) {
            guard try vault.isMerging() else { return try answer([], false, call, exit: .negative) }
            return try content(side, paths, vault, call)
        }
        let choices = [ours, theirs, union, mark].filter { call.has($0) }
        let source = call.arguments.last(file)
        guard choices.count + (source == nil ? 0 : 1) <= 1 else {
            throw Usage.error("resolve takes one decision at a time", about: [call.verb])
        }
        guard call.has(all) || !paths.isEmpty else {
            guard choices.isEmpty, source == nil else {
                throw Usage.error("resolve needs PATH or '--all'", about: [call.verb])
            }
            let isMerging = try vault.isMerging()
            return try answer(try vault.conflicts(), isMerging, call, exit: isMerging ? .ok : .negative)
        }
        guard !call.has(list), !call.has(all) || paths.isEmpty else {
            throw Usage.error("'--list' and '--all' take no PATH", about: [call.verb])
        }
        if call.has(all), choices.isEmpty {
            throw Usage.error("'--all' needs a decision, such as '--ours'", about: [call.verb])
        }
        guard try vault.isMerging() else { return try answer([], false, call, exit: .negative) }
        let choice: Resolution
        if let source {
            choice = .content(try content(of: source, call))
        } else if call.has(ours) {
            choice = .ours
        } else if call.has(theirs) {
            choice = .theirs
        } else {
            choice = call.has(union) ? .union : .workingFile
        }
        let decided = try call.completing(vault) {
            try vault.resolve(choice, paths: call.has(all) ? nil : paths, observer: call.observer())
        }
        return try answer(decided, true, call, exit: .ok)
    }

    private static func answer(
        _ conflicts: [Conflict], _ isMerging: Bool, _ call: Call, exit: ExitCode
    ) throws -> ExitCode {
        let left = isMerging ? try VaultPlace.open(call).conflicts().count { !$0.isResolved } : 0
        let code = try call.answer(ResolveAnswer(conflicts: conflicts, isMerging: isMerging, left: left), exit: exit)
        if isMerging, left == 0 { call.messages.advice("vaultctl merge --continue") }
        return code
    }

    private static func content(of source: [UInt8], _ call: Call) throws -> [UInt8] {
        let limit = 64 << 20
        let path = try call.place(source)
        do throws(Errno) {
            if source == [UInt8(ascii: "-")] {
                return try call.surroundings.standardInput.read(descriptor: 0, limit: limit)
            }
            return try call.surroundings.vault.fileSystem.readFile(path, limit: limit)
        } catch {
            throw VaultError.io(error, "cannot read \(TextSafety.quoted(source))")
        }
    }

    private static func content(
        _ side: [UInt8], _ paths: [VaultPath], _ vault: Vault, _ call: Call
    ) throws -> ExitCode {
        guard let side = MergeSide(rawValue: String(decoding: side, as: UTF8.self)), paths.count == 1 else {
            throw Usage.error("'--show' takes base, ours or theirs, and one PATH", about: [call.verb])
        }
        guard call.isJSON else {
            try call.completing(vault) {
                try vault.conflictContent(paths[0], side: side) { part in
                    try call.checkStop()
                    try call.output.write(bytes: part)
                }
            }
            return .ok
        }
        var bytes: [UInt8] = []
        try call.completing(vault) {
            try vault.conflictContent(paths[0], side: side) { part in part.append(to: &bytes) }
        }
        return try call.answer(SideAnswer(path: paths[0], side: side, bytes: bytes))
    }
}

/// One side of a conflict, told; text is the file itself.
private struct SideAnswer: Rendered {
    let path: VaultPath
    let side: MergeSide
    let bytes: [UInt8]

    func writeText(to text: TextRenderer) throws {}

    func jsonMembers() -> [JSONMember] {
        .record([
            "path": .path(path), "side": .string(side.rawValue), "size": .count(bytes.count),
            "data_b64": .string(Base64.text(bytes.span)),
        ])
    }
}

/// Conflicts, told.
private struct ResolveAnswer: Rendered {
    let conflicts: [Conflict]
    let isMerging: Bool
    let left: Int

    private static let words: [Conflict.Kind: String] = [
        .bothModified: "both changed it", .bothAdded: "both added it", .deletedByUs: "deleted here, changed there",
        .deletedByThem: "changed here, deleted there", .fileAndFolder: "a file on one side, a folder on the other",
        .caseClash: "added on one side, under a name of other case on the other side",
    ]

    func writeText(to text: TextRenderer) throws {
        guard isMerging else { return try text.line("No merge is in progress") }
        for conflict in conflicts {
            try text.path(
                conflict.isResolved ? "R" : "U", conflict.path.bytes, as: conflict.isResolved ? .good : .bad, indent: 1)
            if !conflict.isResolved {
                let verdict = conflict.verdict == .genuine ? "" : " (\(conflict.verdict.rawValue))"
                try text.line("    \(Self.words[conflict.kind] ?? "")\(verdict)")
            }
        }
        try text.line(left == 0 ? "Nothing conflicts any more" : "\(text.counted(left, "conflict")) left")
    }

    func jsonMembers() -> [JSONMember] {
        func side(_ side: Conflict.Side?) -> JSONValue {
            side.map { .record(["blob_id": .id($0.blobID), "size": .integer($0.size)]) } ?? .null
        }
        return .record([
            "conflicts": .array(
                conflicts.map {
                    .record([
                        "path": .path($0.path), "kind": .string($0.kind.rawValue), "base": side($0.base),
                        "ours": side($0.ours), "theirs": side($0.theirs), "verdict": .string($0.verdict.rawValue),
                        "resolved": .bool($0.isResolved),
                    ])
                }),
            "left": .count(left),
        ])
    }
}
