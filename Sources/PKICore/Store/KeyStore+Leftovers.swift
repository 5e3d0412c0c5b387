internal import VaultFormat
internal import VaultSystem

/// The names of what lies in a store for a moment only.
///
/// A file `.tmp-secret-…` becomes another one by renaming; a folder `.tmp-…` becomes an identity, and `.tmp-….lock` lies
/// beside it. Each ends with 16 digits of its own, so nobody else's files look the same.
enum TemporaryName {
    private static let filePrefix = Array(".tmp-secret-".utf8)
    private static let folderPrefix = Array(".tmp-".utf8)
    private static let lockSuffix = Array(".lock".utf8)
    private static let digitCount = 16

    static func file(_ digits: [UInt8]) -> [UInt8] { filePrefix + digits }
    static func folder(_ digits: [UInt8]) -> [UInt8] { folderPrefix + digits }
    static func lock(ofFolder name: [UInt8]) -> [UInt8] { name + lockSuffix }

    static func isFile(_ name: [UInt8]) -> Bool { has(name, filePrefix) }
    static func isFolder(_ name: [UInt8]) -> Bool { has(name, folderPrefix) }

    /// The folder that a lock is for; nil when the name is no lock's.
    static func folder(ofLock name: [UInt8]) -> [UInt8]? {
        guard name.count > lockSuffix.count, name.suffix(lockSuffix.count).elementsEqual(lockSuffix) else { return nil }
        let folder = Array(name.dropLast(lockSuffix.count))
        return isFolder(folder) ? folder : nil
    }

    private static func has(_ name: [UInt8], _ prefix: [UInt8]) -> Bool {
        guard name.count == prefix.count + digitCount, name.starts(with: prefix) else { return false }
        let digits = Array(name.dropFirst(prefix.count))
        return Hex.isLower(digits.span)
    }
}

extension KeyStore {
    /// Makes a file under a fresh name and locks it, so that ``removeLeftovers()`` of others leaves it alone.
    ///
    /// The lock lasts as long as the file is open.
    ///
    /// * `mode`: Subject to the umask.
    func createHeld(
        in directory: any Directory, mode: UInt32, name: ([UInt8]) -> [UInt8]
    ) throws(PKIError) -> (name: [UInt8], file: any File) {
        for _ in 0..<16 {
            let name = name(try freshName())
            let held = try attempt("cannot write to the key store \(folder.text)", path: folder) {
                () throws(Errno) -> (any File)? in
                let file = try directory.createFile(name, mode: mode)
                do throws(Errno) {
                    // Where there are no locks, nobody gets one and removes the file.
                    let isLocked = (try? file.lock(wait: false)) ?? true
                    // Between the two calls it may have looked like a leftover.
                    let isThere = try directory.statusIfPresent(of: name)?.inode == file.status().inode
                    return isLocked && isThere ? file : nil
                } catch {
                    try? directory.removeFile(name)
                    throw error
                }
            }
            if let held { return (name, held) }
        }
        throw PKIError(.ioError, "cannot write to the key store \(folder.text): its files vanish", path: folder.text)
    }

    /// Runs `body` with the name for a folder that is there for a moment only; meanwhile nobody takes it for a leftover.
    func withTemporaryFolder<Result>(
        in directory: any Directory, _ body: (_ name: [UInt8]) throws(PKIError) -> Result
    ) throws(PKIError) -> Result {
        let (lockName, lock) = try createHeld(in: directory, mode: IdentityFiles.privateMode) {
            TemporaryName.lock(ofFolder: TemporaryName.folder($0))
        }
        defer {
            try? directory.removeFile(lockName)
            withExtendedLifetime(lock) {}
        }
        guard let name = TemporaryName.folder(ofLock: lockName) else {
            throw PKIError(.internalError, "a temporary name was not found again")
        }
        return try body(name)
    }

    /// Removes what writers that were killed left: files, and folders with half an identity.
    ///
    /// What a living process is at work on is locked, and stays. Failing harms nothing, as the next one tries again.
    func removeLeftovers() {
        if let contacts = try? open(Self.contactsName) { Self.removeLeftovers(in: contacts) }
        guard let keys = try? open(Self.keysName) else { return }
        Self.removeLeftovers(in: keys)
        for (_, name) in (try? fingerprints(in: keys, suffix: "")) ?? [] {
            if let identity = try? folder(name, in: keys) { Self.removeLeftovers(in: identity) }
        }
    }

    private static func removeLeftovers(in directory: any Directory) {
        for entry in (try? directory.entries()) ?? [] {
            let name = entry.name
            if TemporaryName.isFile(name) {
                try? removeAbandoned(name, in: directory) { () throws(Errno) in }
            } else if let folder = TemporaryName.folder(ofLock: name) {
                try? removeAbandoned(name, in: directory) { () throws(Errno) in try directory.removeTree(folder) }
            } else if TemporaryName.isFolder(name) {
                try? removeUnlocked(name, in: directory)
            }
        }
    }

    /// Removes a file whose lock nobody holds, once `first` is done.
    private static func removeAbandoned(
        _ name: [UInt8], in directory: any Directory, first: () throws(Errno) -> Void
    ) throws(Errno) {
        let file = try directory.openFile(name)
        let status = try file.status()
        guard status.kind == .regular, try file.lock(wait: false) else { return }
        // Its maker may have renamed it before the lock was free.
        guard try directory.statusIfPresent(of: name)?.inode == status.inode else { return }
        try first()
        try directory.removeFile(name)
    }

    /// Removes a listed folder that has no lock beside it.
    ///
    /// A maker has the lock from before the folder is there until after it is gone: a folder that was there before its
    /// lock was missed, and is there after, has no maker.
    private static func removeUnlocked(_ name: [UInt8], in directory: any Directory) throws(Errno) {
        guard try directory.statusIfPresent(of: TemporaryName.lock(ofFolder: name)) == nil,
            try directory.statusIfPresent(of: name)?.kind == .directory
        else { return }
        try directory.removeTree(name)
    }
}
