internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl fsck`.
enum FsckCommand {
    static let quick = OptionSpec.flag("--quick", help: "do not decrypt file contents; every object is still hashed")
    static let connectivityOnly = OptionSpec.flag(
        "--connectivity-only", help: "only check that everything is there, without reading file contents")
    static let repair = OptionSpec.flag(
        "--repair", help: "fetch missing objects and replace corrupt ones, keeping the bad files aside [net]")

    static let verb = Verb(
        words: ["fsck"], group: .maintain, summary: "check that the clone is whole",
        paragraph: """
            Hashes, decrypts and parses every object that the branches of this clone lead to, whichever is worked on, \
            checks the signatures of all commits and tags, and the local state. Exit 0 only when nothing is wrong, or \
            everything wrong was repaired. With \
            --repair a lost or damaged ref, branch index, config.json or record of this clone is made anew as well, \
            from the server or from what the clone knows; a ref that had to be guessed while commits go on from the \
            guess counts as damage; what can not be told any more is said, and the bad file is kept \
            in local/vaultctl/quarantine.
            """,
        synopsis: ["fsck [--quick] [--connectivity-only] [--repair]"], options: [quick, connectivityOnly, repair],
        exits: [
            .init(.ok, "clean, or fully repaired"), .init(.notFound), .init(.auth), .init(.network, "with --repair"),
            .init(.integrity, "damage was found"), .init(.io, "files could not be read"),
            .init(.unsupported, "records are of a newer version"),
        ],
        examples: [
            .init("vaultctl fsck", "Checks everything."),
            .init("vaultctl fsck --repair", "Also gets what is missing or corrupt from the server."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/fsck/1",
            "checked{objects,bytes,commits,trees,blobs}, missing[{id,type,referenced_by,path}], "
                + "corrupt[{id,type,referenced_by,path,detail}], broken[{id,type,referenced_by,path,detail}], "
                + "unreadable[{id,type,referenced_by,path,detail}], newer[{id,type,referenced_by,path,detail}], dangling, "
                + "signatures{verified,bad[],unsigned,no_key}, tags{verified,bad[],unsigned,no_key,missing}, repaired[], "
                + "unrepaired[], notes[], absent"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let options = FsckOptions(
            connectivityOnly: call.has(connectivityOnly), quick: call.has(quick), repair: call.has(repair))
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        var remote: (any Remote)?
        if call.has(repair) {
            remote = try self.remote(call, vault)
        }
        let report = try await vault.fsck(options, repairFrom: remote, observer: observer)
        return try call.answer(
            FsckAnswer(report: report),
            exit: report.isClean
                ? .ok : report.isDamaged ? .integrity : report.newer.isEmpty ? .io : .unsupported)
    }

    /// The place to repair from; nil where this vault records none, and the clone is mended from itself.
    private static func remote(_ call: Call, _ vault: Vault) throws -> (any Remote)? {
        let server: ServerAddress
        do {
            server = try ServerChoice.existing(call, vault)
        } catch let error as VaultError
            where [.remoteNotFound, .objectCorrupt].contains(error.code)
            && !call.has(GlobalOptions.remote)
        {
            call.messages.note("no server is known; what only a server could give back stays missing")
            return nil
        }
        return try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
    }
}

/// What a check found, told.
private struct FsckAnswer: Rendered {
    let report: FsckReport

    func writeText(to text: TextRenderer) throws {
        let checked = report.checked
        try text.line(
            "Checked \(text.counted(checked.objects, "object")), \(text.size(checked.bytes)): "
                + "\(text.counted(checked.commits, "commit")), \(text.counted(checked.trees, "tree")), "
                + text.counted(checked.blobs, "blob"))
        let signatures = report.signatures
        try text.line(
            "Signatures: \(signatures.verified) verified, \(signatures.bad.count) bad, "
                + "\(signatures.unsigned) unsigned, \(signatures.noKey) without a known key")
        let tags = report.tags
        if tags != SignatureCounts() { try text.line(text.signatures("Tags", tags)) }
        try findings(report.missing, "missing", text)
        try findings(report.corrupt, "corrupt", text)
        try findings(report.broken, "broken", text)
        try findings(report.unreadable, "unreadable", text)
        try findings(report.newer, "newer", text)
        for commit in signatures.bad { try text.line("bad signature: \(commit.text)") }
        for tag in report.badTags { try text.line("bad tag: \(TextSafety.line(tag))") }
        if report.dangling > 0 { try text.line("Unreachable: \(text.counted(report.dangling, "object"))") }
        for id in report.repaired { try text.line("repaired: \(TextSafety.line(id))") }
        for id in report.unrepaired where !report.repaired.isEmpty {
            try text.line("not repaired: \(TextSafety.line(id))")
        }
        if report.absent > 0 { try text.line("Left at the remote: \(text.counted(report.absent, "object"))") }
        for note in report.notes { try text.line("note: \(TextSafety.line(note))") }
        try text.line(
            report.isClean
                ? "Clean"
                : report.isDamaged
                    ? "Damage found"
                    : report.newer.isEmpty
                        ? "Not everything could be read" : "Records of a newer version were left alone")
    }

    private func findings(_ findings: [FsckReport.Finding], _ title: String, _ text: TextRenderer) throws {
        for finding in findings {
            let path = finding.path.map { ", at " + String(decoding: TextSafety.path($0.bytes), as: UTF8.self) } ?? ""
            let from = finding.referencedBy.map { ", needed by \(TextSafety.line($0))" } ?? ""
            let detail = finding.detail.isEmpty ? "" : ": \(TextSafety.line(finding.detail))"
            try text.line(
                try text.coloured(title, .bad)
                    + " \(finding.kind.rawValue) \(TextSafety.line(finding.id))\(path)\(from)\(detail)")
        }
    }

    func jsonMembers() -> [JSONMember] {
        let checked = report.checked
        let signatures = report.signatures
        return .record([
            "checked": .record([
                "objects": .count(checked.objects),
                "bytes": .integer(checked.bytes),
                "commits": .count(checked.commits),
                "trees": .count(checked.trees),
                "blobs": .count(checked.blobs),
            ]),
            "missing": list(report.missing, detailed: false),
            "corrupt": list(report.corrupt, detailed: true),
            "broken": list(report.broken, detailed: true),
            "unreadable": list(report.unreadable, detailed: true),
            "newer": list(report.newer, detailed: true),
            "dangling": .count(report.dangling),
            "signatures": .record([
                "verified": .count(signatures.verified),
                "bad": .array(signatures.bad.map { .id($0) }),
                "unsigned": .count(signatures.unsigned),
                "no_key": .count(signatures.noKey),
            ]),
            "tags": .record([
                "verified": .count(report.tags.verified), "bad": .strings(report.badTags),
                "unsigned": .count(report.tags.unsigned), "no_key": .count(report.tags.noKey),
                "missing": .count(report.tags.missing),
            ]),
            "repaired": .strings(report.repaired),
            "unrepaired": .strings(report.unrepaired),
            "notes": .strings(report.notes),
            "absent": .count(report.absent),
        ])
    }

    private func list(_ findings: [FsckReport.Finding], detailed: Bool) -> JSONValue {
        .array(
            findings.map { finding in
                let members: [JSONMember] = .record([
                    "id": .string(finding.id),
                    "type": .string(finding.kind.rawValue),
                    "referenced_by": .optional(finding.referencedBy),
                    "path": finding.path.map { .path($0) } ?? .null,
                ])
                return .object(members + (detailed ? .record(["detail": .string(finding.detail)]) : []))
            })
    }
}
