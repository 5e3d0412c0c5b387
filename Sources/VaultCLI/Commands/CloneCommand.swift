internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl clone`.
enum CloneCommand {
    static let readOnly = OptionSpec.flag("--read-only", help: "keep the read key only, also when a vault key is given")
    static let bare = OptionSpec.flag(
        "--bare", help: "keep the encrypted store alone: no working copy and no key of the vault")

    static let path = OptionSpec.value(
        "--path", argument: "P", help: "hold the folder P only", repeatable: true)
    static let depth = OptionSpec.value("--depth", argument: "N", help: "fetch N levels of commits only")
    static let noCheckout = OptionSpec.flag(
        "--no-checkout", help: "write no file and fetch no content; vaultctl sparse brings folders")

    static let keepPartial = OptionSpec.flag(
        "--keep-partial", help: "after a failure keep what was fetched, for --resume")
    static let resume = OptionSpec.flag(
        "--resume", help: "go on with what an interrupted clone to DIR fetched; implies --keep-partial")

    static let verb = Verb(
        words: ["clone"], group: .start, summary: "copy a vault from a server or folder",
        paragraph: """
            Copies a whole vault into DIR (default: the vault id), verifying every object and signature. VAULT is the \
            id of a vault, whose key then comes from --key-file, --key-fd, --key-command, VAULTCTL_KEY or the terminal; \
            or a published read key (sgit_public_read_...); or '-' for a key on standard input. A read key gives a \
            clone that can not commit. The server is --server, VAULTCTL_SERVER, SGIT_DEFAULT_BASE_URL or \
            server.default, and is recorded. When it fails, nothing is left behind, but for the objects that were \
            fetched when they are to be kept: they stay beside DIR until the next clone to DIR, which goes on with \
            them under --resume and removes them otherwise. With --path, --depth or --no-checkout only a part is fetched; \
            what a later verb needs of the rest it gets from the server. Commits of such a clone keep what they do not \
            hold as it is.
            """,
        synopsis: [
            "clone [--server URL] [--read-only] [--bare] [--path P]... [--depth N] [--no-checkout] "
                + "[--keep-partial|--resume] VAULT [DIR]"
        ],
        options: [readOnly, bare, path, depth, noCheckout, keepPartial, resume],
        positionals: [
            Positional("VAULT", help: "a vault id, a published read key, or '-'", required: true, secret: true),
            Positional("DIR", help: "where the clone is made: a new or empty folder", completion: .folder),
        ],
        exits: [
            .init(.ok), .init(.notFound, "no server is known, or it has no such vault"), .init(.auth), .init(.network),
            .init(.integrity), .init(.refused, "DIR is not empty"),
            .init(.partial, "some files can not be stored on this file system"), .init(.unsupported),
        ],
        examples: [
            .init(
                "vaultctl clone --server /srv/vaults/notes --key-file ~/notes.key k7m2p9x4",
                "Clones vault k7m2p9x4 from a folder."),
            .init("pass show notes | vaultctl clone --server /srv/vaults/notes -", "Takes the key from a pipe."),
        ],
        network: .always,
        document: .init(
            "vaultctl/clone/1",
            "directory, vault_id, mode, branch, clone_branch_id, head, commits, objects, bytes, resumed, "
                + "files, unverified[{commit,status}], partial"),
        changes: true,
        action: .network { call in try await run(call) })

    /// The folders of `--path`, seen from the vault's root.
    private static func scope(_ call: Call) throws -> [VaultPath] {
        try call.arguments.all(path).map { typed in
            let fromRoot = typed.starts(with: Array(":/".utf8)) ? Array(typed.dropFirst(2)) : typed
            do throws(FormatError) { return try VaultPath(fromRoot) } catch {
                throw Usage.error("option '--path' takes a folder of the vault: \(error.detail)", about: [call.verb])
            }
        }
    }

    private static func run(_ call: Call) async throws -> ExitCode {
        if call.has(bare), call.has(path) || call.has(noCheckout) {
            throw Usage.error("'--bare' does not go with '--path' and '--no-checkout'", about: [call.verb])
        }
        guard let server = try ServerChoice.new(call) else {
            throw VaultError(.remoteNotFound, "clone needs a server", hint: "--server URL names one")
        }
        let access = try CloneArgument(call: call).key()
        let vaultID = access.vaultID
        let positionals = call.arguments.allPositionals
        let directory = try call.place(
            positionals.count > 1 ? positionals[1] : Array(vaultID.text.utf8))
        let outer = try NewVaultPlace(call: call).check(directory)
        try ServerPlace.check(server, clone: ServerPlace.real(directory, call), call)
        let options = CloneOptions(
            bare: call.has(bare), readOnly: call.has(readOnly), server: server.text,
            keepPartial: call.has(keepPartial), resumes: call.has(resume), scope: try scope(call),
            depth: try call.number(depth, least: 1), noCheckout: call.has(noCheckout))
        let key = try CloneKey(access, options: options)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vaultID, call: call)
        let result: CloneResult
        do {
            result = try await Vault.clone(
                from: remote, key: key, to: directory, options: options, environment: call.surroundings.vault,
                observer: observer)
        } catch {
            let wasBegun = (error as? VaultError)?.code != .directoryNotEmpty
            if wasBegun, options.keepPartial || options.resumes {
                call.messages.note("what was fetched is kept; the same command with --resume goes on from there")
            }
            throw error
        }
        NewVaultPlace(call: call).tell(outer)
        for (commit, status) in result.unverified {
            call.messages.warning("commit \(commit.text): signature \(status.rawValue)")
        }
        let root = (try? call.surroundings.vault.fileSystem.canonicalPath(directory)) ?? directory
        guard !result.notStored.isEmpty else {
            return try call.answer(CloneAnswer(result: result, root: root, done: []))
        }
        let vault = try Vault.open(
            root: root, options: OpenOptions(verb: call.verb.name), environment: call.surroundings.vault)
        let failed = Set(result.notStored.map(\.path))
        let done = try vault.list(nil, recursive: true, revision: nil).map(\.path).filter { !failed.contains($0.bytes) }
        return try call.answer(CloneAnswer(result: result, root: root, done: done), exit: .partial)
    }
}

/// A finished clone, told.
private struct CloneAnswer: Rendered {
    let result: CloneResult
    let root: FilePath
    /// The files that were written, when some were not.
    let done: [VaultPath]

    func writeText(to text: TextRenderer) throws {
        let kind = result.mode == .full ? "" : " (\(result.mode.rawValue))"
        try text.line("Cloned \(result.vaultID.text) into \(root.text)\(kind)")
        try text.line(
            "Branch \(result.branch) at \(text.short(result.head)): \(text.counted(result.commits, "commit")), "
                + "\(text.counted(result.objects, "object")), \(text.size(result.bytes)), "
                + text.counted(result.files, "file"))
        if result.resumed > 0 { try text.line("Of these \(text.counted(result.resumed, "object")) were here already") }
        try text.notStored(result.notStored)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "directory": .name(root.bytes),
            "vault_id": .string(result.vaultID.text),
            "mode": .string(result.mode.rawValue),
            "branch": .string(result.branch),
            "clone_branch_id": .optional(result.cloneBranchID),
            "head": .id(result.head),
            "commits": .count(result.commits),
            "objects": .count(result.objects),
            "bytes": .integer(result.bytes),
            "resumed": .count(result.resumed),
            "files": .count(result.files),
            "unverified": .array(
                result.unverified.map {
                    .record(["commit": .id($0.commit), "status": .string($0.status.rawValue)])
                }),
            "partial": .partial(done: done, failed: result.notStored),
        ])
    }
}
