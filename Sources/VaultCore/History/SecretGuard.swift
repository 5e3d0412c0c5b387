internal import VaultFormat
internal import VaultSystem

/// Keeps a vault's own secrets out of commits (spec 03 §7).
struct SecretGuard: Sendable {
    /// Device and inode of every file below `.sg_vault/local`.
    private let localFiles: Set<FileIdentity>
    private let allowed: Set<VaultPath>
    private let scansContent: Bool

    private struct FileIdentity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    init(local: any Directory, allowed: [VaultPath], scansContent: Bool) throws(VaultError) {
        self.allowed = Set(allowed)
        self.scansContent = scansContent
        var found: Set<FileIdentity> = []
        var pending: [any Directory] = [local]
        while let folder = pending.popLast() {
            try attempt("cannot list local/") { () throws(Errno) in
                for entry in try folder.entries() {
                    if entry.kind == .directory {
                        pending.append(try folder.openDirectory(entry.name))
                    } else if let status = try? folder.status(of: entry.name) {
                        found.insert(FileIdentity(device: status.device, inode: status.inode))
                    }
                }
            }
        }
        localFiles = found
    }

    /// Refuses a file that is a hard link into `.sg_vault/local`; no override.
    func checkIdentity(_ path: VaultPath, _ status: FileStatus) throws(VaultError) {
        guard status.linkCount > 1,
            localFiles.contains(FileIdentity(device: status.device, inode: status.inode))
        else { return }
        throw VaultError(
            .secretInCommit, "\(path) is a hard link to a file of .sg_vault/local and was not committed",
            hint: "remove the link", path: path.description)
    }

    /// Whether a file that begins like this has to be read whole by `checkContent`.
    func wantsContent(_ path: VaultPath, head: [UInt8]) -> Bool {
        scansContent && !allowed.contains(path) && head.starts(with: [0x50, 0x4B, 0x03, 0x04])
    }

    /// Refuses a zip that holds a vault key, token or private key.
    func checkContent(_ path: VaultPath, _ file: any File, size: Int64) throws(VaultError) {
        let name = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
            try SecretScan.secretEntry(size: Int(clamping: size)) { (offset, count) throws(Errno) in
                try file.seek(to: Int64(offset))
                return try file.read(fillingUpTo: count, sizeHint: count)
            }
        }
        if let name { throw Self.finding(path, name) }
    }

    /// The same for content held in memory.
    func checkContent(_ path: VaultPath, _ bytes: [UInt8]) throws(VaultError) {
        guard wantsContent(path, head: bytes), let name = SecretScan.secretEntry(in: bytes.span) else { return }
        throw Self.finding(path, name)
    }

    private static func finding(_ path: VaultPath, _ name: [UInt8]) -> VaultError {
        VaultError(
            .secretInCommit, "\(path) is a zip that holds \(PathQuoting.text(name)) and was not committed",
            hint: "commit --allow-secret \(path), if it really belongs into the vault", path: path.description)
    }
}
