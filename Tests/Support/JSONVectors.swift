package import VaultFormat
internal import VaultSystem

extension Vectors {
    /// A JSON file of `TestVectors`.
    package static func json(_ relative: String) throws -> JSONValue {
        let bytes = try LinuxFileSystem().readFile(FilePath(root + "/" + relative), limit: 64 << 20)
        return try JSONReader.parse(bytes.span)
    }
}
