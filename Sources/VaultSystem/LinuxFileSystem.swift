internal import CSystemShim
internal import Glibc

/// The operating system's files.
package struct LinuxFileSystem: FileSystem {
    package init() {}

    package func openDirectory(_ path: FilePath) throws(Errno) -> any Directory {
        try LinuxDirectory(path)
    }

    package func createDirectory(_ path: FilePath, mode: UInt32) throws(Errno) {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            _ = try Syscalls.call { unsafe mkdir(start, mode_t(mode)) }
        }
    }

    package func status(of path: FilePath, followLinks: Bool) throws(Errno) -> FileStatus {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            var found = vs_status()
            _ = try Syscalls.call { unsafe vs_status_of_path(start, followLinks ? 1 : 0, &found) }
            return FileStatus(found)
        }
    }

    package func canonicalPath(_ path: FilePath) throws(Errno) -> FilePath {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            // realpath allocates the answer; it is copied and freed here.
            guard let answer = unsafe realpath(start, nil) else { throw Errno(rawValue: errno) }
            defer { unsafe free(answer) }
            return unsafe FilePath(bytes: CBytes.copy(answer))
        }
    }

    package func currentDirectory() throws(Errno) -> FilePath {
        guard let answer = unsafe getcwd(nil, 0) else { throw Errno(rawValue: errno) }
        // getcwd allocates the answer; it is copied and freed here.
        defer { unsafe free(answer) }
        return unsafe FilePath(bytes: CBytes.copy(answer))
    }

    package func readFile(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        let file = try openFile(path)
        return try file.readToEnd(limit: limit, sizeHint: Int(clamping: file.status().size))
    }

    /// Opens a file named by the user for reading; links are followed, and a FIFO is waited for.
    package func openFile(_ path: FilePath) throws(Errno) -> LinuxFile {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            LinuxFile(owning: try Syscalls.call { unsafe vs_open_at(AT_FDCWD, start, O_RDONLY, 0) })
        }
    }
}

extension FileStatus {
    init(_ found: vs_status) {
        self.init(
            kind: FileKind(mode: found.kind), mode: found.mode, size: found.size, modifiedNs: found.modified_ns,
            changedNs: found.changed_ns, inode: found.inode, device: found.device, linkCount: found.link_count)
    }
}

extension FileKind {
    /// From the type bits of `st_mode`.
    init(mode: UInt32) {
        switch mode {
        case 0o100000: self = .regular
        case 0o040000: self = .directory
        case 0o120000: self = .symbolicLink
        default: self = .other
        }
    }
}

/// Copies of C strings.
enum CBytes {
    /// The bytes of a terminated string, without the NUL.
    static func copy(_ start: UnsafePointer<CChar>) -> [UInt8] {
        // The string is terminated, as its source promises.
        unsafe Array(UnsafeRawBufferPointer(start: start, count: strlen(start)))
    }
}
