internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl ls`.
enum ListCommand {
    static let recursive = OptionSpec.flag("-r", help: "also what is in the folders below")
    static let long = OptionSpec.flag("-l", help: "with size and content type")
    static let tree = OptionSpec.flag("--tree", help: "as a tree, with the folders below")
    static let revision = OptionSpec.value(
        "--rev", argument: "REV", help: "as it was at a revision", completion: .revision)
    static let ids = OptionSpec.flag("--ids", help: "with the ids of blobs and trees")
    static let porcelain = OptionSpec.flag("--porcelain", help: "kind, size, id and path, separated by tabs")
    static let zero = OptionSpec.flag("-z", help: "paths with NUL after each and no quoting")

    static let verb = Verb(
        words: ["ls"], group: .work, summary: "list what the vault holds",
        paragraph: """
            Lists the entries of a folder (default: the current one) at the head or at a revision, from the encrypted \
            store, whatever the working copy holds. Folders end in '/'. Paths are told from the current directory, as \
            other verbs take them; with --json from the vault's root. With -l and --tree 'not here' marks files whose \
            content a clone of a part of the vault has not fetched.
            """,
        synopsis: ["ls [-r] [-l] [--tree] [--rev REV] [--ids] [--porcelain | -z] [PATH]"],
        options: [recursive, long, tree, revision, ids, porcelain, zero],
        positionals: [Positional("PATH", help: "a folder or file of the vault", completion: .vaultPath)],
        exits: [.init(.ok), .init(.notFound, "there is no such path"), .init(.auth), .init(.integrity)],
        examples: [
            .init("vaultctl ls -l docs", "The folder 'docs' with sizes."),
            .init("vaultctl ls -r -z | xargs -0 -n1 echo", "Every file for a script."),
        ],
        document: .init("vaultctl/ls/1", "entries[{path,type,size,blob_id,content_type,local,large}]"),
        pages: false, action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        let folder = try typed.path(call.arguments.allPositionals.first ?? Array(".".utf8))
        let entries = try vault.list(
            folder, recursive: call.has(recursive) || call.has(tree), withFolders: call.has(tree),
            revision: try call.arguments.last(revision).map { try call.revision($0) })
        var style = ListAnswer.Style()
        style.isLong = call.has(long)
        style.showsIDs = call.has(ids)
        style.form = call.has(zero) ? .zero : call.has(porcelain) ? .porcelain : call.has(tree) ? .tree : .plain
        return try call.answer(ListAnswer(entries: entries, base: folder, style: style, typed: typed))
    }
}

/// Entries of a folder, told.
struct ListAnswer: Rendered {
    struct Style {
        enum Form { case plain, tree, porcelain, zero }
        var form = Form.plain
        var isLong = false
        var showsIDs = false
    }

    let entries: [ListEntry]
    /// The folder that was listed; nil for the root.
    let base: VaultPath?
    let style: Style
    /// Tells paths from the current directory; nil from the vault's root.
    let typed: PathArgument?

    func writeText(to text: TextRenderer) throws {
        let output = text.call.output
        switch style.form {
        case .zero:
            for entry in entries { try output.write(name(entry) + [0]) }
        case .porcelain:
            for entry in entries {
                let size = entry.size.map(String.init) ?? "-"
                let head = "\(entry.kind.rawValue)\t\(size)\t\(entry.objectID.text)\t"
                try output.write(Array(head.utf8) + TextSafety.path(name(entry)) + [UInt8(ascii: "\n")])
            }
        case .tree: try TreeDrawing(entries: entries, base: base, style: style).write(to: text)
        case .plain: try writePlain(to: text)
        }
    }

    private func writePlain(to text: TextRenderer) throws {
        let width = entries.compactMap(\.size).map { String($0).count }.max() ?? 1
        for entry in entries {
            var head = ""
            if style.showsIDs { head += entry.objectID.text + "  " }
            if style.isLong {
                let size = entry.size.map(String.init) ?? "-"
                let type = entry.contentType.map(TextSafety.line) ?? "-"
                head += TextLayout.padded("", to: width - size.count) + "\(size)  \(TextLayout.padded(type, to: 24))  "
            }
            let end = style.isLong ? mark(entry) : []
            try text.call.output.write(Array(head.utf8) + TextSafety.path(name(entry)) + end + [UInt8(ascii: "\n")])
        }
    }

    private func mark(_ entry: ListEntry) -> [UInt8] { Array((entry.isLocal ? "" : "  (not here)").utf8) }

    private func name(_ entry: ListEntry) -> [UInt8] {
        let path = entry.path.bytes + (entry.kind == .folder ? [UInt8(ascii: "/")] : [])
        return typed?.typed(path) ?? path
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "entries": .array(
                entries.map {
                    .record([
                        "path": .path($0.path),
                        "type": .string($0.kind.rawValue),
                        "size": .optional($0.size),
                        "blob_id": .id($0.objectID),
                        "content_type": .optional($0.contentType),
                        "local": .bool($0.isLocal),
                        "large": .bool($0.isLarge),
                    ])
                })
        ])
    }
}
