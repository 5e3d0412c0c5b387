internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verbs `vaultctl config ACTION`.
enum ConfigCommand {
    static let showOrigin = OptionSpec.flag("--show-origin", help: "with the file that each value comes from")
    static let user = OptionSpec.flag("--user", help: "in the user's file instead of the clone's")

    static let verbs: [Verb] = [list, get, set, unset]

    private static let name = Positional("NAME", help: "a setting", required: true, completion: .setting)
    private static let document = Verb.Document("vaultctl/config/1", "settings[{name,value,origin,file,effective}]")
    private static let exits: [Verb.Exit] = [
        .init(.ok), .init(.notFound, "there is no such setting, or it has no value"),
        .init(.refused, "a value looks like a secret"),
    ]

    private static let list = Verb(
        words: ["config", "list"], group: .tool, summary: "list the settings that apply here",
        paragraph: """
            Lists every setting that has an effect, with its value, and those that a file sets without effect in this \
            version, marked so. A value comes from the clone's file, else the user's, else the machine's, else it is \
            built in. 'vaultctl config' does the same.
            """,
        synopsis: ["config [list] [--show-origin]"], options: [showOrigin], exits: exits,
        examples: [
            .init("vaultctl config", "Every setting."),
            .init("vaultctl config list --show-origin", "Also where each comes from."),
        ],
        document: document, isDefault: true,
        action: .local { call in
            let settings = try call.settings()
            return try call.answer(
                ConfigAnswer(
                    rows: SettingKey.all.compactMap { ConfigAnswer.Row($0, settings) }.filter {
                        $0.key.scope != .nowhere || $0.origin != .builtIn
                    },
                    showsOrigin: call.has(showOrigin), isList: true))
        })

    private static let get = Verb(
        words: ["config", "get"], group: .tool, summary: "print one setting",
        paragraph: "Prints the value of a setting as it applies here.",
        synopsis: ["config get NAME"], positionals: [name], exits: exits,
        examples: [
            .init("vaultctl config get core.pager", "The pager."),
            .init("vaultctl config get push.autoPull --json", "With its origin."),
        ],
        document: document,
        action: .local { call in
            let key = try named(call)
            guard let row = ConfigAnswer.Row(key, try call.settings()) else {
                throw VaultError(.keyNotFound, "\(key.name) is not set")
            }
            return try call.answer(ConfigAnswer(rows: [row], showsOrigin: false, isList: false))
        })

    private static let set = Verb(
        words: ["config", "set"], group: .tool, summary: "change a setting",
        paragraph: "Sets a value for this clone, or with --user for every vault of this user.",
        synopsis: ["config set [--user] NAME VALUE"], options: [user],
        positionals: [name, Positional("VALUE", help: "the new value", required: true, secret: true)], exits: exits,
        examples: [
            .init("vaultctl config set push.autoPull true", "For this clone."),
            .init("vaultctl config set --user core.color never", "For every vault of this user."),
        ],
        document: document, changes: true,
        action: .local { call in
            let key = try named(call)
            let text = try call.textPositional(1) ?? ""
            if key.scope == .clone, call.has(user) {
                throw Usage.error("\(key.name) is set for each clone, not for the user", about: [call.verb])
            }
            if key.scope == .nowhere { call.messages.warning("\(key.name) has no effect in this version") }
            guard !SettingsFile.looksSecret(text) else {
                throw VaultError(.refused, "the value looks like a secret", hint: "keys belong in a key file")
            }
            guard let value = key.value(typed: text) else {
                throw Usage.error("\(key.name) has to be \(key.expectation)", about: [call.verb])
            }
            return try change(call, key, to: value)
        })

    private static let unset = Verb(
        words: ["config", "unset"], group: .tool, summary: "take a setting back",
        paragraph:
            "Removes a value from this clone, or with --user from the user's file; what lies below applies again.",
        synopsis: ["config unset [--user] NAME"], options: [user], positionals: [name], exits: exits,
        examples: [
            .init("vaultctl config unset push.autoPull", "For this clone."),
            .init("vaultctl config unset --user core.color", "For every vault of this user."),
        ],
        document: document, changes: true, action: .local { call in try change(call, try named(call), to: nil) })

    private static func named(_ call: Call) throws -> SettingKey {
        let name = try call.textPositional(0) ?? ""
        if let key = SettingKey.named(name) { return key }
        let near = Spelling.nearest(to: name, among: SettingKey.all.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
        throw VaultError(.keyNotFound, "there is no such setting\(near)", hint: "vaultctl config list")
    }

    private static func change(_ call: Call, _ key: SettingKey, to value: JSONValue?) throws -> ExitCode {
        if call.has(user) {
            try UserSettings(call: call).change(key, to: value)
        } else {
            try VaultPlace.open(call).setSetting(key.name, to: value)
        }
        let settings = try Settings.load(for: call)
        return try call.answer(
            ConfigAnswer(
                rows: ConfigAnswer.Row(key, settings).map { [$0] } ?? [], showsOrigin: false, isList: true))
    }
}

/// Settings, told.
private struct ConfigAnswer: Rendered {
    struct Row {
        let key: SettingKey
        let value: JSONValue
        let origin: SettingsFile.Origin
        let path: FilePath?

        /// Nil when the setting has no value.
        init?(_ key: SettingKey, _ settings: Settings) {
            guard let found = settings.value(key) else { return nil }
            self.key = key
            (value, origin, path) = found
        }

        /// The value without quotes.
        var shown: String {
            if let items = value.items { return items.compactMap(\.text).joined(separator: ",") }
            return value.text ?? JSONWriter.text(value, .compact)
        }
    }

    let rows: [Row]
    let showsOrigin: Bool
    let isList: Bool

    func writeText(to text: TextRenderer) throws {
        for row in rows {
            let origin = showsOrigin ? "\(row.origin.rawValue)\(row.path.map { " \($0.text)" } ?? "")\t" : ""
            let name = isList ? "\(row.key.name)=" : ""
            let mark = isList && row.key.scope == .nowhere ? "  (no effect in this version)" : ""
            try text.line(origin + name + TextSafety.line(row.shown) + mark)
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "settings": .array(
                rows.map {
                    .record([
                        "name": .string($0.key.name),
                        "value": $0.value,
                        "origin": .string($0.origin.rawValue),
                        "file": $0.path.map { .name($0.bytes) } ?? .null,
                        "effective": .bool($0.key.scope != .nowhere),
                    ])
                })
        ])
    }
}
