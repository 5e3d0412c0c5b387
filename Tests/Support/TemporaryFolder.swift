package import VaultSystem

/// A fresh folder on the real file system, removed with its last reference.
package final class TemporaryFolder: Sendable {
    package let path: FilePath
    private let parent: any Directory
    private let name: [UInt8]

    /// Makes it below `TMPDIR` or `/tmp`.
    package init(_ label: String = "test") throws {
        let base = FilePath(ProcessContext.environmentText("TMPDIR") ?? "/tmp")
        name = Array("vaultctl-\(label)-\(ProcessContext.processID)-\(UInt64.random(in: 0..<UInt64.max))".utf8)
        path = base.appending(component: name)
        parent = try LinuxFileSystem().openDirectory(base)
        try parent.createDirectory(name, mode: 0o700)
    }

    deinit {
        try? parent.removeTree(name)
    }

    package func appending(_ component: String) -> FilePath {
        path.appending(component: component)
    }

    /// The folder, opened.
    package func open() throws -> any Directory {
        try parent.openDirectory(name)
    }
}
