internal import CSystemShim
internal import Glibc

/// What the system tells a process about itself.
package enum ProcessContext {
    /// The command line, program name included, as bytes.
    package static var arguments: [[UInt8]] {
        // argv is terminated strings that live as long as the process.
        (0..<Int(CommandLine.argc)).compactMap { index in
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { return nil }
            return unsafe CBytes.copy(argument)
        }
    }

    /// The value of an environment variable as bytes; nil when it is not set.
    package static func environment(_ name: String) -> [UInt8]? {
        // This process never changes its environment, so the answer stays valid while it is copied.
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe CBytes.copy(value)
    }

    /// The value of an environment variable as text; nil when it is not set or is no UTF-8.
    package static func environmentText(_ name: String) -> String? {
        environment(name).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Every `NAME=value` of the environment.
    package static var environmentEntries: [[UInt8]] {
        var found: [[UInt8]] = []
        guard var next = unsafe vs_environment() else { return found }
        // The table ends with a null pointer.
        while let entry = unsafe next.pointee {
            unsafe found.append(CBytes.copy(entry))
            unsafe next = next.successor()
        }
        return found
    }

    package static var processID: Int32 { getpid() }

    package static var effectiveUserID: UInt32 { geteuid() }

    /// The machine's name; empty when the system does not tell.
    package static var hostName: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 257) { buffer in
            unsafe buffer.initialize(repeating: 0)
            guard let start = buffer.baseAddress else { return "" }
            // One byte less than the buffer holds, so that the name is terminated also when it was cut.
            guard unsafe gethostname(start, 256) == 0 else { return "" }
            return unsafe String(decoding: CBytes.copy(start), as: UTF8.self)
        }
    }

    /// The working directory of the following relative paths.
    package static func changeDirectory(to path: FilePath) throws(Errno) {
        try unsafe Syscalls.withPath(path) { start throws(Errno) in
            _ = try Syscalls.call { unsafe chdir(start) }
        }
    }

    /// Lets this process have as many open files as it may, and gives the number.
    package static func raiseOpenFiles() -> Int {
        Int(vs_raise_open_files())
    }

    /// Turns core dumps off: they would hold keys.
    package static func disableCoreDumps() {
        vs_disable_core_dumps()
    }

    /// Ends the process; buffers of the C library are flushed.
    package static func exit(_ code: Int32) -> Never {
        Glibc.exit(code)
    }
}
