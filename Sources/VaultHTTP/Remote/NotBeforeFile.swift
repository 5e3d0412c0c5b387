internal import VaultFormat
package import VaultSystem

/// The times before which servers want no request, in `not_before.json` of a clone (spec 03 §13, 10 B.10).
///
/// Losing it costs a request that is refused, so a file that does not read counts as empty and a failed write is no
/// error.
package struct NotBeforeFile: BackoffStore {
    private let folder: FilePath
    private let fileSystem: any FileSystem
    private let clock: any Clock

    private static let name = "not_before.json"

    /// * `folder`: `.sg_vault/local/vaultctl` of the clone.
    package init(folder: FilePath, fileSystem: any FileSystem, clock: any Clock) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.clock = clock
    }

    package func notBefore(_ origin: String) -> Int64? {
        entries().first { $0.name == origin }?.value.int
    }

    package func remember(_ milliseconds: Int64, for origin: String) {
        let now = clock.nowMs
        // What has passed is of no use to anybody.
        var kept = entries().filter { $0.name != origin && $0.value.int.map { $0 > now } == true }
        kept.append(JSONMember(name: origin, value: .integer(milliseconds)))
        let bytes = JSONWriter.bytes(
            .record(["v": .integer(1), "origins": .object(kept)]), .compact)
        guard let directory = try? fileSystem.openDirectory(folder) else { return }
        try? AtomicFile.write(
            bytes.span, as: Array(Self.name.utf8), in: directory, staging: directory,
            temporaryName: Array(".\(Self.name)-\(ProcessContext.processID)".utf8), mode: 0o600, durability: .none)
    }

    private func entries() -> [JSONMember] {
        guard let bytes = try? fileSystem.readFile(folder.appending(component: Self.name), limit: 1 << 20),
            let value = try? JSONReader.parse(bytes.span), value["v"] == .integer(1)
        else { return [] }
        return value["origins"]?.members ?? []
    }
}
