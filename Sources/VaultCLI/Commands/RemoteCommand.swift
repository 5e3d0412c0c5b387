internal import VaultCore
internal import VaultFormat

/// The verbs `vaultctl remote ACTION`.
enum RemoteCommand {
    static let isDefault = OptionSpec.flag("--default", help: "make it the remote that this vault talks to")
    static let noCheck = OptionSpec.flag("--no-check", help: "do not ask the server first")

    static let verbs: [Verb] = [list, add, remove, rename, setURL, setDefault, show]

    private static let name = Positional("NAME", help: "the remote's name", required: true, completion: .remote)
    private static let url = Positional(
        "URL", help: "a URL, or the path of a folder", required: true, completion: .folder)
    private static let document = Verb.Document(
        "vaultctl/remote/1", "remotes[{name,url,default,tls_verify,last_ok_ms}]")
    private static let exits: [Verb.Exit] = [
        .init(.ok), .init(.notFound, "there is no such remote"), .init(.rejected, "the name is taken"), .init(.auth),
    ]
    private static let checkedExits =
        exits + [
            .init(.network, "the server does not answer"), .init(.refused, "the server is this clone itself"),
        ]

    private static let list = Verb(
        words: ["remote", "list"], group: .share, summary: "list the saved remotes",
        paragraph: """
            Lists the remotes that this clone has saved; '*' marks the default. 'vaultctl remote' does the same.
            """,
        synopsis: ["remote [list]"], exits: exits,
        examples: [
            .init("vaultctl remote", "Names and URLs."), .init("vaultctl remote -v", "Also when each last answered."),
        ],
        document: document, isDefault: true,
        action: .local { call in
            try call.answer(RemotesAnswer(remotes: try VaultPlace.open(call).remotes()))
        })

    private static let add = Verb(
        words: ["remote", "add"], group: .share, summary: "save a remote under a name",
        paragraph: """
            Saves a remote. The server is asked first, unless --no-check is given. The first one is the default.
            """,
        synopsis: ["remote add [--default] [--no-check] NAME URL"], options: [isDefault, noCheck],
        positionals: [
            Positional("NAME", help: "the name to save it under", required: true), url,
        ],
        exits: checkedExits,
        examples: [
            .init("vaultctl remote add usb /media/usb/notes", "Saves a folder."),
            .init(
                "vaultctl remote add --default home /srv/vaults/notes", "Saves a folder and talks to it from now on."),
        ],
        network: .always, document: document, changes: true,
        action: .network { call in
            try await change(call, url: try call.textPositional(1)) { vault, name, address in
                try vault.addRemote(name: name, url: address?.text ?? "", isDefault: call.has(isDefault))
            }
        })

    private static let remove = Verb(
        words: ["remote", "rm"], group: .share, summary: "forget a remote",
        paragraph: "Forgets a saved remote. Nothing changes at the remote itself.",
        synopsis: ["remote rm NAME"], positionals: [name], exits: exits,
        examples: [.init("vaultctl remote rm usb", "Forgets 'usb'."), .init("vaultctl remote rm -q old", "The same.")],
        document: document, changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            try vault.removeRemote(name: try named(call, vault))
            return try call.answer(RemotesAnswer(remotes: try vault.remotes()))
        })

    private static let rename = Verb(
        words: ["remote", "rename"], group: .share, summary: "give a remote another name",
        paragraph: "Renames a saved remote.",
        synopsis: ["remote rename OLD NEW"],
        positionals: [
            Positional("OLD", help: "its name now", required: true, completion: .remote),
            Positional("NEW", help: "its new name", required: true),
        ],
        exits: exits,
        examples: [
            .init("vaultctl remote rename usb stick", "Renames 'usb'."),
            .init("vaultctl remote rename origin home", "Renames 'origin'."),
        ],
        document: document, changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            try vault.renameRemote(try named(call, vault), to: try call.textPositional(1) ?? "")
            return try call.answer(RemotesAnswer(remotes: try vault.remotes()))
        })

    private static let setURL = Verb(
        words: ["remote", "set-url"], group: .share, summary: "change where a remote is",
        paragraph: "Changes the URL of a saved remote. The server is asked first, unless --no-check is given.",
        synopsis: ["remote set-url [--no-check] NAME URL"], options: [noCheck], positionals: [name, url],
        exits: checkedExits,
        examples: [
            .init("vaultctl remote set-url usb /media/usb2/notes", "The folder has moved."),
            .init("vaultctl remote set-url --no-check usb /media/usb2/notes", "The folder is not there now."),
        ],
        network: .always, document: document, changes: true,
        action: .network { call in
            try await change(call, url: try call.textPositional(1)) { vault, name, address in
                _ = try RemoteNames.record(name, of: vault)
                try vault.setRemoteURL(name: name, url: address?.text ?? "")
            }
        })

    private static let setDefault = Verb(
        words: ["remote", "set-default"], group: .share, summary: "choose the remote to talk to",
        paragraph: "Makes a saved remote the one that push, pull and fetch talk to.",
        synopsis: ["remote set-default NAME"], positionals: [name], exits: exits,
        examples: [
            .init("vaultctl remote set-default home", "Talks to 'home' from now on."),
            .init("vaultctl remote set-default usb --json", "The same, for scripts."),
        ],
        document: document, changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            try vault.setDefaultRemote(name: try named(call, vault))
            return try call.answer(RemotesAnswer(remotes: try vault.remotes()))
        })

    private static let show = Verb(
        words: ["remote", "show"], group: .share, summary: "tell about one remote",
        paragraph: "Tells what is saved of one remote.",
        synopsis: ["remote show NAME"], positionals: [name], exits: exits,
        examples: [
            .init("vaultctl remote show home", "Tells about 'home'."),
            .init("vaultctl remote show -v home", "Also when it last answered."),
        ],
        document: document,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            let record = try RemoteNames.record(try call.textPositional(0) ?? "", of: vault)
            return try call.answer(RemotesAnswer(remotes: [record]))
        })

    /// The first positional, as the name of a remote that exists.
    private static func named(_ call: Call, _ vault: Vault) throws -> String {
        try RemoteNames.record(try call.textPositional(0) ?? "", of: vault).name
    }

    /// Asks a server whether it answers, then changes the list of remotes.
    private static func change(
        _ call: Call, url: String?, _ body: (Vault, _ name: String, ServerAddress?) throws -> Void
    ) async throws -> ExitCode {
        let name = try call.textPositional(0) ?? ""
        let vault = try VaultPlace.open(call)
        let address = try url.map { try ServerAddress.parse($0, relativeTo: call.workingDirectory) }
        if let address { try ServerPlace.check(address, clone: vault.rootPath, call) }
        if let address, !call.has(noCheck) {
            let remote = try RemoteOpener.open(address, vaultID: vault.vaultID, call: call, vault: vault)
            if remote.createsOnWrite {
                call.messages.note("\(remote.location) does not exist yet; the first push makes it")
            } else {
                _ = try await remote.list(.indexes)
            }
        }
        try body(vault, name, address)
        return try call.answer(RemotesAnswer(remotes: try vault.remotes()))
    }
}

/// Saved remotes, told.
private struct RemotesAnswer: Rendered {
    let remotes: [RemoteRecord]

    func writeText(to text: TextRenderer) throws {
        let width = remotes.map { TextSafety.line($0.name).count }.max() ?? 0
        for remote in remotes {
            let name = TextLayout.padded(TextSafety.line(remote.name), to: width)
            let url = Redaction.redacted(TextSafety.line(remote.url))
            var line = "\(remote.isDefault ? "*" : " ") \(name)  \(url)"
            if text.isVerbose {
                line += remote.lastOkMs.map { "  last answered \(text.age(ofMs: $0))" } ?? "  never asked"
                if !remote.verifiesTLS { line += "  TLS not verified" }
            }
            try text.line(line)
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "remotes": .array(
                remotes.map {
                    .record([
                        "name": .string($0.name),
                        "url": .string($0.url),
                        "default": .bool($0.isDefault),
                        "tls_verify": .bool($0.verifiesTLS),
                        "last_ok_ms": .optional($0.lastOkMs),
                    ])
                })
        ])
    }
}
