internal import VaultCore
internal import VaultSystem

/// Looks at where a vault is to be made, by `init` or `clone`.
struct NewVaultPlace {
    let call: Call

    /// The name of the folder that makes a vault of the one it lies in.
    static let store = Array(".sg_vault".utf8)

    /// Refuses a place inside the store of a vault.
    /// - Returns: The vault in whose working copy the place lies, if there is one.
    func check(_ directory: FilePath) throws -> FilePath? {
        let fileSystem = call.surroundings.vault.fileSystem
        // The folder itself need not exist yet.
        let existing = try? fileSystem.canonicalPath(directory)
        guard let place = existing ?? (try? fileSystem.canonicalPath(directory.parent)) else { return nil }
        guard !place.components.contains(Self.store) else {
            throw VaultError(
                .refused, "\(directory.text) lies in .sg_vault, which belongs to a vault alone", path: directory.text)
        }
        guard let outer = try? Vault.locate(from: place, environment: call.surroundings.vault), outer != existing
        else { return nil }
        return outer
    }

    /// Tells what lying in another vault's working copy means.
    func tell(_ outer: FilePath?) {
        guard let outer else { return }
        call.messages.note(
            "this lies inside the vault \(outer.text), whose commits record the files here and never their .sg_vault")
    }
}
