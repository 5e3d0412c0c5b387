/// Files that appear under their name complete or not at all.
package enum AtomicFile {
    /// How far the bytes must have come when the call returns.
    package enum Durability: Sendable {
        /// Whole after a crash of the process, not of the machine.
        case none
        /// Content durable before the name points to it; the name itself may still be lost with the machine.
        case content
        /// Content and name durable.
        case contentAndName
    }

    /// Writes `bytes` under a fresh name in `staging` and renames it to `name` in `target`.
    ///
    /// Both directories must be of one file system (`Errno.crossDevice` otherwise). On failure nothing stays in
    /// `staging` and the old file, if any, is untouched. The mode is set exactly, whatever the umask.
    package static func write(
        _ bytes: Span<UInt8>, as name: [UInt8], in target: any Directory, staging: any Directory,
        temporaryName: [UInt8], mode: UInt32, replacing: Bool = true, durability: Durability
    ) throws(Errno) {
        let file = try staging.createFile(temporaryName, mode: 0o600)
        do throws(Errno) {
            try file.write(bytes)
            if mode != 0o600 { try file.setMode(mode) }
            if durability != .none { try file.sync() }
            try staging.rename(temporaryName, to: target, as: name, replacing: replacing)
        } catch {
            try? staging.removeFile(temporaryName)
            throw error
        }
        if durability == .contentAndName { try target.sync() }
    }

    /// Writes `bytes` to a file that must not exist, durably; it has no other name before, so that a kill leaves nothing.
    ///
    /// Where the file system has no files without names, under `temporaryName` beside it. The mode is set exactly.
    package static func writeNew(
        _ bytes: Span<UInt8>, as name: [UInt8], in target: any Directory, temporaryName: [UInt8], mode: UInt32
    ) throws(Errno) {
        let file: any File
        do throws(Errno) { file = try target.createUnnamedFile(mode: 0o600) } catch .notSupported {
            return try write(
                bytes, as: name, in: target, staging: target, temporaryName: temporaryName, mode: mode,
                replacing: false, durability: .contentAndName)
        }
        try file.write(bytes)
        try file.setMode(mode)
        try file.sync()
        try target.link(file, as: name)
        try target.sync()
    }
}
