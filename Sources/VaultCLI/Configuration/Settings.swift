internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The settings that apply to a run: clone › user › system › built-in (spec 10 B.7).
struct Settings: Sendable {
    /// From the most to the least special.
    let files: [SettingsFile]

    /// Reads the files that apply where the call takes place.
    static func load(for call: Call) throws -> Settings {
        let fileSystem = call.surroundings.vault.fileSystem
        var places: [(SettingsFile.Origin, FilePath)] = []
        if let root = try? VaultPlace.root(for: call) { places.append((.clone, clonePath(root: root))) }
        if let user = userPath(call.surroundings) { places.append((.user, user)) }
        places.append((.system, call.surroundings.systemConfiguration))
        let files = try places.compactMap { try SettingsFile.read($0.0, $0.1, fileSystem: fileSystem) }
        for file in files {
            for name in file.unknownNames {
                call.messages.warning("\(file.path.text): there is no setting named '\(name)'")
            }
            guard file.origin != .clone else { continue }
            for key in file.members.compactMap({ SettingKey.named($0.name) }) where key.scope == .clone {
                call.messages.warning("\(file.path.text): \(key.name) has an effect in a clone's own file only")
            }
        }
        return Settings(files: files)
    }

    /// The configuration file of a clone.
    static func clonePath(root: FilePath) -> FilePath {
        root.appending(".sg_vault/local/vaultctl/config.json")
    }

    /// The user's configuration file; nil when neither `HOME` nor `XDG_CONFIG_HOME` tells where it is.
    static func userPath(_ surroundings: Surroundings) -> FilePath? {
        func path(_ name: String) -> FilePath? {
            surroundings.environment[name].flatMap { $0.isEmpty ? nil : FilePath(bytes: $0) }
        }
        if let given = path("VAULTCTL_CONFIG") { return surroundings.workingDirectory.appending(given) }
        if let base = path("XDG_CONFIG_HOME"), base.isAbsolute { return base.appending("vaultctl/config.json") }
        return path("HOME")?.appending(".config/vaultctl/config.json")
    }

    /// A value and where it comes from; nil when nothing sets it.
    func value(_ key: SettingKey) -> (value: JSONValue, origin: SettingsFile.Origin, path: FilePath?)? {
        for file in files where key.scope != .clone || file.origin == .clone {
            if let member = file.members.last(where: { $0.name == key.name }) {
                return (member.value, file.origin, file.path)
            }
        }
        return key.builtIn.map { ($0, .builtIn, nil) }
    }

    /// The value of a text or a choice.
    func text(_ key: SettingKey) -> String? {
        value(key)?.value.text
    }

    /// The value of a number.
    func number(_ key: SettingKey) -> Int? {
        value(key)?.value.int.map { Int(clamping: $0) }
    }

    /// The values of a list.
    func list(_ key: SettingKey) -> [String] {
        (value(key)?.value.items ?? []).compactMap(\.text)
    }

    /// The value of a flag.
    func flag(_ key: SettingKey) -> Bool {
        value(key)?.value.boolean ?? false
    }
}
