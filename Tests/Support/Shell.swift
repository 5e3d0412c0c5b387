internal import VaultSystem

/// Runs shell commands in tests, for what this project's own file system seam deliberately can not do.
package enum Shell {
    /// Runs a command.
    ///
    /// - Throws: `Errno.ioError` when it fails.
    @discardableResult
    package static func run(_ command: String) throws -> [UInt8] {
        let result = try Subprocess.capture(command, removingFromEnvironment: [], limit: 1 << 20)
        guard result.exitCode == 0 else { throw Errno.ioError }
        return result.output
    }
}
