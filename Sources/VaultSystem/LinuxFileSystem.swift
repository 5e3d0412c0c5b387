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

    /// Opens a file named by the user for reading; links are followed.
    ///
    /// A FIFO is waited for when it is read, not here, so that a noted signal ends the wait.
    package func openFile(_ path: FilePath) throws(Errno) -> LinuxFile {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            let descriptor = try Syscalls.call { unsafe vs_open_at(AT_FDCWD, start, O_RDONLY | O_NONBLOCK, 0) }
            var found = vs_status()
            let isKnown = unsafe vs_status_of_descriptor(descriptor, &found) == 0
            return LinuxFile(owning: descriptor, waits: !isKnown || FileKind(mode: found.kind) != .regular)
        }
    }

    package func openStream(_ path: FilePath) throws(Errno) -> any File {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            while true {
                do throws(Errno) {
                    let descriptor = try Syscalls.call {
                        unsafe vs_open_at(AT_FDCWD, start, O_WRONLY | O_NONBLOCK, 0)
                    }
                    return LinuxFile(owning: descriptor, waits: true)
                } catch {
                    var found = vs_status()
                    guard error == .noSuchDevice, unsafe vs_status_of_path(start, 1, &found) == 0,
                        found.kind == Self.fifo
                    else { throw error }
                }
                // Nobody reads from it yet.
                try Waiting.pause(milliseconds: 20)
            }
        }
    }

    package func linkTarget(of path: FilePath) throws(Errno) -> FilePath {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            var target = [UInt8](repeating: 0, count: 4096)
            // As many bytes are written as fit into the array; they are not terminated.
            let count = try Syscalls.count {
                unsafe target.withUnsafeMutableBytes { buffer in
                    guard let place = unsafe buffer.bindMemory(to: CChar.self).baseAddress else { return 0 }
                    return unsafe readlink(start, place, buffer.count)
                }
            }
            return FilePath(bytes: Array(target.prefix(count)))
        }
    }

    /// The type bits of a FIFO in `st_mode`.
    private static let fifo: UInt32 = 0o010000
}

extension FileStatus {
    init(_ found: vs_status) {
        self.init(
            kind: FileKind(mode: found.kind), mode: found.mode, size: found.size, modifiedNs: found.modified_ns,
            changedNs: found.changed_ns, inode: found.inode, device: found.device, linkCount: found.link_count,
            owner: found.owner)
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
