internal import VaultSystem

/// The debug build of the program, which has the named points at which it can be made to die.
package enum DebugBinary {
    /// Beside the tests, or where `VAULT_BINARY` says; nil when there is none.
    package static func path() -> String? {
        let system = LinuxFileSystem()
        var candidates: [FilePath] = []
        if let named = ProcessContext.environmentText("VAULT_BINARY") { candidates.append(FilePath(named)) }
        if let own = try? system.canonicalPath("/proc/self/exe") {
            candidates.append(own.parent.appending(component: "vaultctl"))
        }
        return candidates.first { (try? system.status(of: $0, followLinks: true))?.kind == .regular }?.text
    }
}
