package import VaultSystem

extension TemporaryFolder {
    /// A copy of a folder of `TestVectors`, below this one.
    package func copy(vectors relative: String, as name: String) throws -> FilePath {
        let source = try LinuxFileSystem().openDirectory(FilePath(Vectors.root + "/" + relative))
        let here = try open()
        try here.createDirectory(Array(name.utf8), mode: 0o755)
        try Self.copy(source, to: try here.openDirectory(Array(name.utf8)))
        return appending(name)
    }

    private static func copy(_ source: any Directory, to target: any Directory) throws {
        for entry in try source.entries() {
            if entry.kind == .directory {
                try target.createDirectory(entry.name, mode: 0o755)
                try copy(try source.openDirectory(entry.name), to: try target.openDirectory(entry.name))
            } else {
                let bytes = try source.openFile(entry.name).readToEnd(limit: 64 << 20)
                try target.createFile(entry.name, mode: 0o644).write(bytes.span)
            }
        }
    }
}
