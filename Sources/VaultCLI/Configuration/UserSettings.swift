internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Changes the user's configuration file.
struct UserSettings {
    let call: Call

    /// Sets a value, or with nil removes it.
    ///
    /// The file is replaced in one step and keeps its mode; its folders are made as needed. A link to it stays one.
    func change(_ key: SettingKey, to value: JSONValue?) throws {
        guard let path = Settings.userPath(call.surroundings) else {
            throw VaultError(.usage, "the user's configuration needs HOME, XDG_CONFIG_HOME or VAULTCTL_CONFIG")
        }
        let fileSystem = call.surroundings.vault.fileSystem
        var file =
            try SettingsFile.read(.user, path, fileSystem: fileSystem)
            ?? SettingsFile(origin: .user, path: path, members: [])
        file.members.removeAll { $0.name == key.name }
        if let value { file.members.append(JSONMember(name: key.name, value: value)) }
        let temporary = Array(".vaultctl-config-\(ProcessContext.processID)".utf8)
        do throws(Errno) {
            guard case .file(let real, let mode) = try fileSystem.outputPlace(path), let name = real.lastComponent
            else { throw .invalidArgument }
            try fileSystem.createDirectories(real.parent, mode: 0o700)
            let folder = try fileSystem.openDirectory(real.parent)
            let bytes = file.bytes
            try AtomicFile.write(
                bytes.span, as: name, in: folder, staging: folder, temporaryName: temporary, mode: mode ?? 0o600,
                durability: .contentAndName)
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
    }
}
