internal import VaultSystem

/// An open directory of a `FaultFileSystem`.
final class FaultDirectory: Directory {
    private let inner: any Directory
    private let plan: FaultFileSystem

    init(_ inner: any Directory, _ plan: FaultFileSystem) {
        self.inner = inner
        self.plan = plan
    }

    func entries() throws(Errno) -> [DirectoryEntry] {
        try plan.check(.entries)
        return plan.shown(try inner.entries())
    }

    func status() throws(Errno) -> FileStatus {
        try plan.check(.status)
        return try inner.status()
    }

    func status(of name: [UInt8]) throws(Errno) -> FileStatus {
        try plan.check(.status)
        return try inner.status(of: name)
    }

    func openDirectory(_ name: [UInt8]) throws(Errno) -> any Directory {
        try plan.checkOpening(name, .openDirectory)
        return FaultDirectory(try inner.openDirectory(name), plan)
    }

    func openFile(_ name: [UInt8]) throws(Errno) -> any File {
        try plan.checkOpening(name)
        return FaultFile(try inner.openFile(name), plan)
    }

    func createFile(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        try plan.check(.createFile)
        return FaultFile(try inner.createFile(name, mode: mode), plan)
    }

    func createUnnamedFile(mode: UInt32) throws(Errno) -> any File {
        try plan.check(.createUnnamedFile)
        return FaultFile(try inner.createUnnamedFile(mode: mode), plan)
    }

    func link(_ file: any File, as name: [UInt8]) throws(Errno) {
        try plan.check(.link)
        try inner.link((file as? FaultFile)?.inner ?? file, as: name)
    }

    func openForAppending(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        try plan.check(.openForAppending)
        return FaultFile(try inner.openForAppending(name, mode: mode), plan)
    }

    func rename(
        _ name: [UInt8], to target: any Directory, as newName: [UInt8], replacing: Bool
    ) throws(Errno) {
        try plan.check(.rename)
        let target = (target as? FaultDirectory)?.inner ?? target
        try inner.rename(name, to: target, as: newName, replacing: replacing)
    }

    func createDirectory(_ name: [UInt8], mode: UInt32) throws(Errno) {
        try plan.check(.createDirectory)
        try inner.createDirectory(name, mode: mode)
    }

    func removeFile(_ name: [UInt8]) throws(Errno) {
        try plan.check(.removeFile)
        try inner.removeFile(name)
    }

    func removeDirectory(_ name: [UInt8]) throws(Errno) {
        try plan.check(.removeDirectory)
        try inner.removeDirectory(name)
    }

    func sync() throws(Errno) {
        try plan.check(.syncDirectory)
        try inner.sync()
    }

    func syncFileSystem() throws(Errno) {
        try plan.check(.syncFileSystem)
        try inner.syncFileSystem()
    }

    func availableSpace() throws(Errno) -> (bytes: Int64, inodes: Int64) {
        try plan.check(.availableSpace)
        return try inner.availableSpace()
    }
}

/// An open file of a `FaultFileSystem`.
final class FaultFile: File {
    let inner: any File
    private let plan: FaultFileSystem

    init(_ inner: any File, _ plan: FaultFileSystem) {
        self.inner = inner
        self.plan = plan
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        try plan.check(.read)
        // The buffer is handed on as it came.
        return try unsafe inner.read(into: buffer)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        try plan.check(.read)
        // The buffer is handed on as it came.
        return try unsafe inner.read(into: buffer, at: offset)
    }

    func write(_ bytes: Span<UInt8>) throws(Errno) {
        if let fault = plan.fault(at: .write) {
            if fault.writesHalf { try? inner.write(bytes.extracting(..<(bytes.count / 2))) }
            throw fault.error
        }
        try inner.write(bytes)
    }

    func sync() throws(Errno) {
        try plan.check(.syncFile)
        try inner.sync()
    }

    func status() throws(Errno) -> FileStatus {
        try plan.check(.status)
        return try inner.status()
    }

    func setMode(_ mode: UInt32) throws(Errno) {
        try plan.check(.setMode)
        try inner.setMode(mode)
    }

    func truncate(to size: Int64) throws(Errno) {
        try plan.check(.truncate)
        try inner.truncate(to: size)
    }

    func seek(to offset: Int64) throws(Errno) {
        try plan.check(.seek)
        try inner.seek(to: offset)
    }

    func lock(wait: Bool) throws(Errno) -> Bool {
        try plan.check(.lock)
        return try inner.lock(wait: wait)
    }

    func unlock() throws(Errno) {
        try plan.check(.unlock)
        try inner.unlock()
    }
}
