internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// `local/vaultctl/derived-keys`: read and write key of a clone that holds its vault key in clear anyway, so that
/// `status` and `log` need no key derivation.
///
/// Bound to the hash of `local/vault_key`.
///
/// Layout: 8 bytes `vctlkey2`, SHA-256 of `vault_key`, read key, write key (32 bytes each), SHA-256 of all before: a
/// damaged write key would not be noticed before a remote was bound to it.
enum KeyCache {
    static let name = "derived-keys"
    private static let magic = Array("vctlkey2".utf8)
    private static let size = covered + 32
    /// Bytes that the digest at the end covers.
    private static let covered = 8 + 3 * 32

    /// The cached keys, when they belong to this `vault_key`.
    static func load(layout: CloneLayout, vaultKeyDigest: [UInt8]) -> (read: ReadKey, write: WriteKey)? {
        guard let own = try? layout.ownFolder(create: false),
            let file = try? own.openFile(name.bytes),
            let status = try? file.status(), status.kind == .regular, status.size == Int64(size),
            let secret = try? SecretBytes(reading: file, count: size)
        else { return nil }
        return secret.withBytes { bytes -> (ReadKey, WriteKey)? in
            guard ConstantTime.equal(bytes.extracting(0..<8), magic.span),
                ConstantTime.equal(bytes.extracting(8..<40), vaultKeyDigest.span),
                let digest = try? SHA256.hash(bytes.extracting(..<covered)),
                ConstantTime.equal(bytes.extracting(covered...), digest.span),
                let read = try? ReadKey(bytes: SecretBytes(copying: bytes.extracting(40..<72))),
                let write = try? WriteKey(bytes: SecretBytes(copying: bytes.extracting(72..<104)))
            else { return nil }
            return (read, write)
        }
    }

    /// Stores the keys; a failure costs the next command a key derivation, nothing else.
    static func store(
        read: ReadKey, write: WriteKey, vaultKeyDigest: [UInt8], layout: CloneLayout, scratch: ScratchArea
    ) {
        guard let own = try? layout.ownFolder(create: true) else { return }
        let secret = try? SecretBytes(count: size) { (target: inout MutableSpan<UInt8>) throws(CryptoError) in
            var position = 0
            func put(_ span: Span<UInt8>, _ target: inout MutableSpan<UInt8>) {
                for index in span.indices {
                    target[position] = span[index]
                    position += 1
                }
            }
            put(magic.span, &target)
            put(vaultKeyDigest.span, &target)
            read.withBytes { put($0, &target) }
            write.withBytes { put($0, &target) }
            let digest = try SHA256.hash(target.span.extracting(..<covered))
            put(digest.span, &target)
        }
        guard let secret else { return }
        secret.withBytes { bytes in
            do throws(Errno) {
                try scratch.replace(name.bytes, in: own, with: bytes, mode: 0o600, durable: false)
            } catch {}  // a cache
        }
    }

    static func remove(layout: CloneLayout) throws(VaultError) {
        try LocalFiles(layout: layout).removeOwn(name)
    }
}

extension SecretBytes {
    /// Reads exactly `count` bytes of a file straight into protected memory.
    init(reading file: any File, count: Int) throws(VaultError) {
        var failure: Errno?
        let secret = try crypto("reading a secret") { () throws(CryptoError) in
            try SecretBytes(count: count) { (target: inout MutableSpan<UInt8>) throws(CryptoError) in
                do throws(Errno) {
                    if try file.read(filling: &target) < count { failure = .ioError }
                } catch { failure = error }
            }
        }
        if let failure { throw .io(failure, "cannot read a secret file") }
        self = secret
    }
}
