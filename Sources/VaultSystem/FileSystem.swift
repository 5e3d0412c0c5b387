/// The seam between this project and the operating system's files.
///
/// Everything below an opened directory is reached through `Directory` and `File`, one name at a time and
/// without following links, so a link planted anywhere on the way can not lead outside. Production code uses
/// `LinuxFileSystem`; tests hand in file systems that count, fail, forget or lie.
package protocol FileSystem: Sendable {
    /// Opens a directory named by the user. Links on the way are followed, as the user would expect.
    func openDirectory(_ path: FilePath) throws(Errno) -> any Directory
    /// Creates one directory; the parent must exist. Links in the parent's path are followed.
    func createDirectory(_ path: FilePath, mode: UInt32) throws(Errno)
    /// What stands at a path; `followLinks` decides about the last component only.
    func status(of path: FilePath, followLinks: Bool) throws(Errno) -> FileStatus
    /// The absolute path without links, `.` and `..`.
    func canonicalPath(_ path: FilePath) throws(Errno) -> FilePath
    /// The process's working directory.
    func currentDirectory() throws(Errno) -> FilePath
    /// Reads a whole file named by the user, at most `limit` bytes; `Errno.fileTooLarge` beyond.
    func readFile(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8]
    /// Opens what is no regular file (a device, a FIFO) for writing into it; links are followed. A FIFO is waited for
    /// until somebody reads it, or until a noted signal (`Errno.interrupted`).
    func openStream(_ path: FilePath) throws(Errno) -> any File
    /// Where the link at a path leads, as it is written in the link.
    func linkTarget(of path: FilePath) throws(Errno) -> FilePath
}

/// For file systems that hold nothing but files, folders and links that are resolved in them.
extension FileSystem {
    package func openStream(_ path: FilePath) throws(Errno) -> any File { throw .notSupported }
    package func linkTarget(of path: FilePath) throws(Errno) -> FilePath { throw .notSupported }
}

/// An open directory.
///
/// Every `name` is one component: no `/`, no NUL, not empty, not `.` or `..`
/// (`Errno.invalidArgument` otherwise). No operation follows a link that stands at `name`.
package protocol Directory: AnyObject, Sendable {
    /// The names in the directory without `.` and `..`, in no particular order.
    func entries() throws(Errno) -> [DirectoryEntry]
    /// The status of the directory itself.
    func status() throws(Errno) -> FileStatus
    /// The status of an entry; of the link itself where it is one.
    func status(of name: [UInt8]) throws(Errno) -> FileStatus
    /// Opens a sub-directory; `Errno.notADirectory` or `.tooManyLinks` where a link stands there.
    func openDirectory(_ name: [UInt8]) throws(Errno) -> any Directory
    /// Opens a file for reading, without waiting on FIFOs. The caller checks the kind by `File.status()`.
    func openFile(_ name: [UInt8]) throws(Errno) -> any File
    /// Creates a file that must not exist, open for reading and writing. The mode is subject to the umask.
    func createFile(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File
    /// Creates a file without a name (`O_TMPFILE`); `Errno.notSupported` where the file system has none.
    func createUnnamedFile(mode: UInt32) throws(Errno) -> any File
    /// Gives an unnamed file of the same file system its name; `Errno.fileExists` when the name is taken.
    func link(_ file: any File, as name: [UInt8]) throws(Errno)
    /// Opens a file to be locked or appended to, creating it with `mode` when absent.
    func openForAppending(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File
    /// Renames within one file system. `replacing: false` fails with `.fileExists` when the target stands.
    func rename(_ name: [UInt8], to target: any Directory, as newName: [UInt8], replacing: Bool) throws(Errno)
    func createDirectory(_ name: [UInt8], mode: UInt32) throws(Errno)
    func removeFile(_ name: [UInt8]) throws(Errno)
    func removeDirectory(_ name: [UInt8]) throws(Errno)
    /// Makes the names of this directory durable (`fsync` of the directory).
    func sync() throws(Errno)
    /// Makes everything written to this file system durable (`syncfs`).
    func syncFileSystem() throws(Errno)
    /// Bytes that an unprivileged process can still write to this file system, and free inodes (`Int64.max`
    /// where the file system does not count them).
    func availableSpace() throws(Errno) -> (bytes: Int64, inodes: Int64)
}

/// An open file, closed when released.
package protocol File: AnyObject, Sendable {
    /// Reads up to the buffer's size at the file's position; 0 at the end. Interrupted calls are repeated.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int
    /// Reads up to the buffer's size at `offset`, leaving the position alone.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int
    /// Writes all bytes at the file's position, continuing after short writes.
    func write(_ bytes: Span<UInt8>) throws(Errno)
    /// Writes all bytes at `offset`; the position may move.
    func write(_ bytes: Span<UInt8>, at offset: Int64) throws(Errno)
    /// Makes content and size durable (`fsync`).
    func sync() throws(Errno)
    func status() throws(Errno) -> FileStatus
    /// Sets the permission bits exactly (`fchmod`).
    func setMode(_ mode: UInt32) throws(Errno)
    func truncate(to size: Int64) throws(Errno)
    /// Moves the position to an absolute offset.
    func seek(to offset: Int64) throws(Errno)
    /// Takes an advisory lock on the open file (`flock`), shared with nobody; false when another holds it and
    /// `wait` is false. The kernel releases it with the last descriptor.
    func lock(wait: Bool) throws(Errno) -> Bool
    func unlock() throws(Errno)
}

extension File {
    /// For files that one thread uses at a time.
    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(Errno) {
        try seek(to: offset)
        try write(bytes)
    }

    /// Reads at the file's position until the span is full or the file ends; the number of bytes read.
    package func read(filling span: inout MutableSpan<UInt8>) throws(Errno) -> Int {
        var failure: Errno?
        let count = unsafe span.withUnsafeMutableBytes { buffer -> Int in
            var filled = 0
            do throws(Errno) {
                // The part lies inside the span, which is ours for the length of the closure.
                while filled < buffer.count {
                    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    let read = unsafe try read(into: part)
                    if read == 0 { break }
                    filled += read
                }
            } catch { failure = error }
            return filled
        }
        if let failure { throw failure }
        return count
    }

    /// Reads up to `count` bytes at the file's position into an array; empty at the end of the file.
    package func read(upTo count: Int) throws(Errno) -> [UInt8] {
        var failure: Errno?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(Errno) {
                // The buffer is ours for the length of the closure and the count is what was filled.
                initialized = try unsafe read(into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads from the position to the end, at most `limit` bytes; `Errno.fileTooLarge` beyond.
    ///
    /// Give as `sizeHint` the size that the file's status told, and an unchanged file takes one call.
    package func readToEnd(limit: Int, sizeHint: Int = 0) throws(Errno) -> [UInt8] {
        var result = try read(upTo: min(max(sizeHint, 0), limit) + 1)
        // Room for one more byte was left unused, so the file ends here.
        if result.count == sizeHint, sizeHint > 0, sizeHint <= limit { return result }
        while true {
            if result.count > limit { throw .fileTooLarge }
            let more = try read(upTo: min(max(result.count, 4096), limit - result.count + 1))
            if more.isEmpty { return result }
            result.append(contentsOf: more)
        }
    }
}

/// One name in a directory, with the kind the directory itself tells (`unknown` where it does not).
package struct DirectoryEntry: Sendable, Equatable {
    package let name: [UInt8]
    package let kind: FileKind

    package init(name: [UInt8], kind: FileKind) {
        self.name = name
        self.kind = kind
    }
}

/// What stands at a name.
package enum FileKind: Sendable, Equatable {
    case regular, directory, symbolicLink, other, unknown
}

/// What `lstat` tells of a file, as far as this project uses it.
package struct FileStatus: Sendable, Equatable {
    package var kind: FileKind
    /// Permission bits only (`st_mode & 07777`).
    package var mode: UInt32
    /// Bytes.
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modifiedNs: Int64
    /// Nanoseconds since 1970; moves with every change of content, name or mode.
    package var changedNs: Int64
    package var inode: UInt64
    package var device: UInt64
    package var linkCount: UInt64
    /// The user whom it belongs to.
    package var owner: UInt32

    package init(
        kind: FileKind, mode: UInt32, size: Int64, modifiedNs: Int64, changedNs: Int64, inode: UInt64, device: UInt64,
        linkCount: UInt64, owner: UInt32 = ProcessContext.effectiveUserID
    ) {
        self.kind = kind
        self.mode = mode
        self.size = size
        self.modifiedNs = modifiedNs
        self.changedNs = changedNs
        self.inode = inode
        self.device = device
        self.linkCount = linkCount
        self.owner = owner
    }

    /// Whether it belongs to the user whom this process acts for.
    package var isOwn: Bool { owner == ProcessContext.effectiveUserID }
}
