internal import Glibc

/// What every system call goes through: repetition after a signal, and names as the C library wants them.
enum Syscalls {
    /// Runs a call until no signal interrupts it, and turns -1 into the error number.
    @inline(__always)
    static func call(_ body: () -> Int32) throws(Errno) -> Int32 {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw Errno(rawValue: code) }
        }
    }

    /// The same for calls that count bytes.
    @inline(__always)
    static func count(_ body: () -> Int) throws(Errno) -> Int {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw Errno(rawValue: code) }
        }
    }

    /// Closes a descriptor whose errors no longer matter.
    ///
    /// Never repeated: Linux frees the number even when `close` is interrupted.
    @inline(__always)
    static func close(_ descriptor: Int32) {
        _ = Glibc.close(descriptor)
    }

    /// Lends one path component as a C string on the stack, refusing what is not exactly one name.
    @inline(__always)
    static func withName<R>(_ name: [UInt8], _ body: (UnsafePointer<CChar>) throws(Errno) -> R) throws(Errno) -> R {
        guard !name.isEmpty else { throw .invalidArgument }
        // NAME_MAX is 255 on every Linux file system; a constant size keeps the buffer on the stack.
        guard name.count <= 255 else { throw .nameTooLong }
        // The buffer lives for the closure only and is filled before it is lent.
        return try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer throws(Errno) -> R in
            guard let start = buffer.baseAddress else { throw .outOfMemory }
            var position = 0
            for byte in name {
                if byte == 0 || byte == UInt8(ascii: "/") { throw .invalidArgument }
                unsafe start[position] = CChar(bitPattern: byte)
                position += 1
            }
            unsafe start[position] = 0
            let dot = CChar(bitPattern: UInt8(ascii: "."))
            let startsWithDot = unsafe start[0] == dot
            if startsWithDot {
                let isDots = unsafe position == 1 || (position == 2 && start[1] == dot)
                if isDots { throw .invalidArgument }
            }
            return unsafe try body(UnsafePointer(start))
        }
    }

    /// Lends a path as a C string.
    static func withPath<R>(_ path: FilePath, _ body: (UnsafePointer<CChar>) throws(Errno) -> R) throws(Errno) -> R {
        guard !path.bytes.isEmpty else { throw .noSuchFile }
        guard !path.bytes.contains(0) else { throw .invalidArgument }
        let terminated = path.bytes.map { CChar(bitPattern: $0) } + [0]
        var failure = Errno.outOfMemory
        // The array lives for the closure only; withUnsafeBufferPointer passes no typed error on.
        let result: R? = unsafe terminated.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            do throws(Errno) {
                return unsafe try body(start)
            } catch {
                failure = error
                return nil
            }
        }
        guard let result else { throw failure }
        return result
    }
}
