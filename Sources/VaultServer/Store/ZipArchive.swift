internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// A zip of a vault's files (R13), member name = file id.
enum ZipArchive {
    /// Writes the archive to a file that goes away with its last user.
    static func write(_ snapshot: VaultSnapshot) throws -> (file: any File, size: Int64) {
        let file = try snapshot.scratchFile()
        var writer = ZipFileWriter(file)
        for path in snapshot.paths { try writer.add(Array(path.utf8), from: try snapshot.open(path)) }
        return (file, try writer.finish())
    }
}
