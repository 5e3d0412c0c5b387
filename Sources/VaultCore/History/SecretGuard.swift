internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Keeps a vault's own secrets out of commits (spec 03 §7).
struct SecretGuard: Sendable {
    /// Device and inode of every file below `.sg_vault/local`.
    private let localFiles: Set<FileIdentity>
    private let allowed: Set<VaultPath>
    private let scansContent: Bool
    /// Find this clone's own vault key, and the one that a rekey under way gives it; none where no key is at hand.
    private let ownKeys: [KeyFinder]
    /// SHA-256 of the secrets that lie in `.sg_vault/local` as files of their own.
    private let localSecrets: Set<[UInt8]>

    /// Larger files are not looked through for the key: a key file is small, and reading everything twice is slow.
    static let searchLimit: Int64 = 1 << 20

    private struct FileIdentity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    init(
        local: any Directory, allowed: [VaultPath], scansContent: Bool, ownKeys: [KeyFinder] = []
    ) throws(VaultError) {
        self.allowed = Set(allowed)
        self.scansContent = scansContent
        self.ownKeys = ownKeys
        localSecrets = scansContent ? try Self.secrets(in: local) : []
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

    /// The digests of `vault_key`, `token`, the signing keys and the derived keys.
    private static func secrets(in local: any Directory) throws(VaultError) -> Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        if let own = try? local.openDirectory("vaultctl".bytes), let file = try? own.openFile(KeyCache.name.bytes),
            var bytes = try? file.read(fillingUpTo: Limits.keyText, sizeHint: Limits.keyText), !bytes.isEmpty
        {
            defer { for index in bytes.indices { bytes[index] = 0 } }
            digests.insert(try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) })
        }
        for entry in try attempt("cannot list local/", { () throws(Errno) in try local.entries() }) {
            guard
                entry.name == "vault_key".bytes || entry.name == "token".bytes
                    || entry.name.suffix(4) == ".pem".bytes[...]
            else { continue }
            guard let file = try? local.openFile(entry.name),
                var bytes = try? file.read(fillingUpTo: Limits.keyText, sizeHint: Limits.keyText), !bytes.isEmpty
            else { continue }
            defer { for index in bytes.indices { bytes[index] = 0 } }
            digests.insert(try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) })
        }
        return digests
    }

    /// Refuses a path that holds this clone's own key: whoever can read the vault can read its names.
    func checkName(_ path: VaultPath) throws(VaultError) {
        let bytes = path.bytes
        guard ownKeys.contains(where: { $0.finds(in: bytes.span) }) else { return }
        throw VaultError(
            .secretInCommit, "a path holds this vault's own key and was not committed", hint: "rename the file")
    }

    /// Whether a file of this size has to be read whole by `checkKey`.
    func wantsKeySearch(_ path: VaultPath, size: Int64) -> Bool {
        scansContent && !ownKeys.isEmpty && size <= Self.searchLimit && !allowed.contains(path)
    }

    /// Refuses content that holds this clone's own key, or is a copy of one of its secret files.
    func checkKey(_ path: VaultPath, _ content: Span<UInt8>) throws(VaultError) {
        guard wantsKeySearch(path, size: Int64(content.count)) else { return }
        for key in ownKeys where key.finds(in: content) { throw Self.keyFound(path, "holds this vault's own key") }
    }

    /// Refuses a stored file whose plaintext is byte for byte one of this clone's secret files.
    func checkCopy(_ path: VaultPath, digest: [UInt8]) throws(VaultError) {
        guard scansContent, !allowed.contains(path), localSecrets.contains(digest) else { return }
        throw Self.keyFound(path, "is a copy of a key file of .sg_vault/local")
    }

    private static func keyFound(_ path: VaultPath, _ what: String) -> VaultError {
        VaultError(
            .secretInCommit, "\(path) \(what) and was not committed",
            hint: "list it in .gitignore or move it away; commit --allow-secret PATH takes it all the same",
            path: path.description)
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

    /// The same for content held in memory, which is also searched for the clone's own key.
    func checkContent(_ path: VaultPath, _ bytes: [UInt8]) throws(VaultError) {
        try checkKey(path, bytes.span)
        guard wantsContent(path, head: bytes), let name = SecretScan.secretEntry(in: bytes.span) else { return }
        throw Self.finding(path, name)
    }

    private static func finding(_ path: VaultPath, _ name: [UInt8]) -> VaultError {
        VaultError(
            .secretInCommit, "\(path) is a zip that holds \(PathQuoting.text(name)) and was not committed",
            hint: "commit --allow-secret \(path), if it really belongs into the vault", path: path.description)
    }
}
