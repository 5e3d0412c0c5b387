internal import CSystemShim
internal import Glibc

/// A failed system call: the number that `errno` held.
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    /// The C library's number.
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The C library's sentence with the C name, for example `No such file or directory (ENOENT)`.
    package var description: String {
        // The C library writes at most 127 bytes and terminates them; the name is a constant of its own.
        let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress else { return "" }
            unsafe vs_errno_text(rawValue, start, buffer.count)
            return unsafe String(cString: start)
        }
        guard let name = unsafe vs_errno_name(rawValue) else { return "\(text) (errno \(rawValue))" }
        return unsafe "\(text) (\(String(cString: name)))"
    }
}

extension Errno {
    /// `ENOENT`: nothing of that name.
    package static let noSuchFile = Self(rawValue: ENOENT)
    /// `EEXIST`: the name is taken.
    package static let fileExists = Self(rawValue: EEXIST)
    /// `ENOTDIR`: a file where a directory must be.
    package static let notADirectory = Self(rawValue: ENOTDIR)
    /// `EISDIR`: a directory where a file must be.
    package static let isADirectory = Self(rawValue: EISDIR)
    /// `ENOTEMPTY`: the directory has entries.
    package static let directoryNotEmpty = Self(rawValue: ENOTEMPTY)
    /// `EACCES`: permission bits forbid it.
    package static let permissionDenied = Self(rawValue: EACCES)
    /// `EPERM`: only a privileged process may.
    package static let notPermitted = Self(rawValue: EPERM)
    /// `ENOSPC`: the file system is full.
    package static let noSpace = Self(rawValue: ENOSPC)
    /// `EDQUOT`: the quota is used up.
    package static let quotaExceeded = Self(rawValue: EDQUOT)
    /// `EROFS`: mounted read-only.
    package static let readOnlyFileSystem = Self(rawValue: EROFS)
    /// `ELOOP`: a link stands where none may, or links lead in circles.
    package static let tooManyLinks = Self(rawValue: ELOOP)
    /// `EMLINK`: too many names for one file.
    package static let tooManyNames = Self(rawValue: EMLINK)
    /// `EXDEV`: another file system.
    package static let crossDevice = Self(rawValue: EXDEV)
    /// `EOPNOTSUPP`: the file system can not do that.
    package static let notSupported = Self(rawValue: EOPNOTSUPP)
    /// `ENOSYS`: the kernel or the file system knows no such call.
    package static let notImplemented = Self(rawValue: ENOSYS)
    /// `EINVAL`: an argument makes no sense.
    package static let invalidArgument = Self(rawValue: EINVAL)
    /// `EILSEQ`: the file system does not take the characters of a name.
    package static let illegalName = Self(rawValue: EILSEQ)
    /// `EFBIG`: larger than the file system or the caller's limit allows.
    package static let fileTooLarge = Self(rawValue: EFBIG)
    /// `EINTR`: a signal arrived.
    package static let interrupted = Self(rawValue: EINTR)
    /// `EIO`: the device failed.
    package static let ioError = Self(rawValue: EIO)
    /// `EAGAIN`, the same as `EWOULDBLOCK`: it would have to wait.
    package static let wouldBlock = Self(rawValue: EAGAIN)
    /// `ENAMETOOLONG`: longer than the file system allows.
    package static let nameTooLong = Self(rawValue: ENAMETOOLONG)
    /// `EMFILE`: this process has too many open files.
    package static let tooManyOpenFiles = Self(rawValue: EMFILE)
    /// `ENFILE`: the system has too many open files.
    package static let tooManyOpenFilesInSystem = Self(rawValue: ENFILE)
    /// `EPIPE`: nobody reads the other end.
    package static let brokenPipe = Self(rawValue: EPIPE)
    /// `EBADF`: no such open descriptor.
    package static let badDescriptor = Self(rawValue: EBADF)
    /// `ENOTTY`: no terminal.
    package static let notATerminal = Self(rawValue: ENOTTY)
    /// `ENXIO`: nobody behind a device or FIFO.
    package static let noSuchDevice = Self(rawValue: ENXIO)
    /// `EBUSY`: in use.
    package static let busy = Self(rawValue: EBUSY)
    /// `ENOMEM`: no memory.
    package static let outOfMemory = Self(rawValue: ENOMEM)
    /// `ESTALE`: a network file that is gone.
    package static let staleHandle = Self(rawValue: ESTALE)

    /// Room is missing: `ENOSPC` or `EDQUOT`.
    package var isOutOfSpace: Bool { self == .noSpace || self == .quotaExceeded }
    /// The right is missing: `EACCES` or `EPERM`.
    package var isPermission: Bool { self == .permissionDenied || self == .notPermitted }
    /// What a file system says that has no modes, or gives all files the same.
    package var isWithoutModes: Bool { isPermission || self == .notSupported || self == .notImplemented }
    /// Nothing stands there: `ENOENT` or `ENOTDIR`.
    package var isAbsent: Bool { self == .noSuchFile || self == .notADirectory }
}
