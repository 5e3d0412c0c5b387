internal import CSystemShim
internal import Glibc

/// An open directory of the operating system; the descriptor is closed with the last reference.
package final class LinuxDirectory: Directory {
    private let descriptor: Int32

    init(_ path: FilePath) throws(Errno) {
        descriptor = try unsafe Syscalls.withPath(path) { start throws(Errno) in
            try Syscalls.call { unsafe vs_open_at(AT_FDCWD, start, O_RDONLY | O_DIRECTORY, 0) }
        }
    }

    private init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        Syscalls.close(descriptor)
    }

    package func status() throws(Errno) -> FileStatus {
        var found = vs_status()
        _ = try Syscalls.call { unsafe vs_status_of_descriptor(descriptor, &found) }
        return FileStatus(found)
    }

    package func status(of name: [UInt8]) throws(Errno) -> FileStatus {
        var found = vs_status()
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            _ = try Syscalls.call { unsafe vs_status_at(descriptor, start, &found) }
        }
        return FileStatus(found)
    }

    package func openDirectory(_ name: [UInt8]) throws(Errno) -> any Directory {
        LinuxDirectory(owning: try open(name, flags: O_RDONLY | O_DIRECTORY))
    }

    package func openFile(_ name: [UInt8]) throws(Errno) -> any File {
        LinuxFile(owning: try open(name, flags: O_RDONLY | O_NONBLOCK))
    }

    /// Opens a file below this directory in one call; nil where the kernel has no such call.
    func openBeneath(_ path: FilePath) throws(Errno) -> LinuxFile? {
        do throws(Errno) {
            return try unsafe Syscalls.withPath(path) { start throws(Errno) in
                LinuxFile(owning: try Syscalls.call { unsafe vs_open_beneath(descriptor, start) })
            }
        } catch {
            if error.rawValue == ENOSYS || error == .notPermitted { return nil }
            throw error
        }
    }

    package func createFile(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        LinuxFile(owning: try open(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: mode))
    }

    package func createUnnamedFile(mode: UInt32) throws(Errno) -> any File {
        LinuxFile(owning: try Syscalls.call { vs_open_unnamed(descriptor, mode) })
    }

    package func link(_ file: any File, as name: [UInt8]) throws(Errno) {
        guard let file = file as? LinuxFile else { throw .invalidArgument }
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            _ = try Syscalls.call { unsafe vs_link_descriptor(file.descriptor, descriptor, start) }
        }
    }

    package func openForAppending(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        LinuxFile(owning: try open(name, flags: O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, mode: mode))
    }

    package func rename(
        _ name: [UInt8], to target: any Directory, as newName: [UInt8], replacing: Bool
    ) throws(Errno) {
        guard let target = target as? LinuxDirectory else { throw .crossDevice }
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            try unsafe Syscalls.withName(newName) { end throws(Errno) in
                _ = try Syscalls.call {
                    unsafe vs_rename(descriptor, start, target.descriptor, end, replacing ? 0 : 1)
                }
            }
        }
    }

    package func createDirectory(_ name: [UInt8], mode: UInt32) throws(Errno) {
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            _ = try Syscalls.call { unsafe mkdirat(descriptor, start, mode_t(mode)) }
        }
    }

    package func removeFile(_ name: [UInt8]) throws(Errno) {
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            _ = try Syscalls.call { unsafe unlinkat(descriptor, start, 0) }
        }
    }

    package func removeDirectory(_ name: [UInt8]) throws(Errno) {
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            _ = try Syscalls.call { unsafe unlinkat(descriptor, start, AT_REMOVEDIR) }
        }
    }

    package func sync() throws(Errno) {
        _ = try Syscalls.call { fsync(descriptor) }
    }

    package func syncFileSystem() throws(Errno) {
        _ = try Syscalls.call { vs_sync_file_system(descriptor) }
    }

    package func availableSpace() throws(Errno) -> (bytes: Int64, inodes: Int64) {
        var bytes: Int64 = 0
        var inodes: Int64 = 0
        _ = try Syscalls.call { unsafe vs_available(descriptor, &bytes, &inodes) }
        return (bytes, inodes)
    }

    private func open(_ name: [UInt8], flags: Int32, mode: UInt32 = 0) throws(Errno) -> Int32 {
        try unsafe Syscalls.withName(name) { start throws(Errno) in
            try Syscalls.call { unsafe vs_open_at(descriptor, start, flags | O_NOFOLLOW, mode) }
        }
    }
}

extension LinuxDirectory {
    package func entries() throws(Errno) -> [DirectoryEntry] {
        // A description of its own: the position of a duplicate would be shared with other readers.
        let own = try Syscalls.call { unsafe vs_open_at(descriptor, ".", O_RDONLY | O_DIRECTORY, 0) }
        guard let stream = unsafe fdopendir(own) else {
            let code = errno
            Syscalls.close(own)
            throw Errno(rawValue: code)
        }
        // closedir also closes `own`.
        defer { unsafe _ = closedir(stream) }
        var found: [DirectoryEntry] = []
        while true {
            errno = 0
            guard let record = unsafe readdir(stream) else {
                let code = errno
                if code == 0 { return found }
                throw Errno(rawValue: code)
            }
            // The record is valid until the next readdir, and its name is terminated; it is copied at once.
            let name = unsafe UnsafeRawPointer(record).advanced(by: Self.nameOffset)
                .assumingMemoryBound(to: CChar.self)
            let bytes = unsafe CBytes.copy(name)
            if bytes == Self.thisDirectory || bytes == Self.parentDirectory { continue }
            var kind = unsafe FileKind(directoryType: record.pointee.d_type)
            // Some file systems keep no kinds in their directories.
            if kind == .unknown, let status = try? status(of: bytes) { kind = status.kind }
            found.append(DirectoryEntry(name: bytes, kind: kind))
        }
    }

    private static let nameOffset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 19
    private static let thisDirectory: [UInt8] = [UInt8(ascii: ".")]
    private static let parentDirectory: [UInt8] = [UInt8(ascii: "."), UInt8(ascii: ".")]
}

extension FileKind {
    /// From `d_type` of a directory record.
    fileprivate init(directoryType: UInt8) {
        switch Int(directoryType) {
        case Int(DT_REG): self = .regular
        case Int(DT_DIR): self = .directory
        case Int(DT_LNK): self = .symbolicLink
        case Int(DT_UNKNOWN): self = .unknown
        default: self = .other
        }
    }
}
