internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The folder `local/vaultctl/tmp` in which every file is written before it gets its name (spec 03 §13).
///
/// Not beside the target: a leftover under `bare/` would be uploaded by the reference's first push, and one in
/// the working copy would be committed. Where the target lies on another file system the target's folder is used.
final class ScratchArea: Sendable {
    let directory: any Directory
    private let random: any RandomSource
    /// A random prefix, made for the first name, and how many names were given.
    private let names = Locked((prefix: [UInt8](), given: 0))

    init(directory: any Directory, random: any RandomSource) {
        self.directory = directory
        self.random = random
    }

    /// A name nobody else uses.
    func freshName() throws(VaultError) -> [UInt8] {
        let (prefix, number) = try names.withLock { (names) throws(VaultError) -> ([UInt8], Int) in
            if names.prefix.isEmpty {
                let bytes = try crypto("random names") { () throws(CryptoError) in try random.bytes(12) }
                names.prefix = "t-".bytes + Hex.encode(bytes.span) + "-".bytes
            }
            names.given += 1
            return (names.prefix, names.given)
        }
        return prefix + String(number).utf8
    }

    /// Writes a file and gives it its name in `target`, replacing what stands there; a link is replaced, not followed.
    ///
    /// * `mode`: Permission bits, subject to the umask.
    /// * `durable`: Sync the file before and the folder after the rename.
    func replace(
        _ name: [UInt8], in target: any Directory, with bytes: Span<UInt8>, mode: UInt32, durable: Bool = true
    ) throws(Errno) {
        do throws(Errno) {
            try write(bytes, mode: mode, durable: durable, via: directory, to: name, in: target)
        } catch .crossDevice {
            try write(bytes, mode: mode, durable: durable, via: target, to: name, in: target)
        }
        if durable { try target.sync() }
    }

    private func write(
        _ bytes: Span<UInt8>, mode: UInt32, durable: Bool, via folder: any Directory, to name: [UInt8],
        in target: any Directory
    ) throws(Errno) {
        let temporary: [UInt8]
        do throws(VaultError) { temporary = try freshName() } catch { throw .ioError }
        let file = try folder.createFile(temporary, mode: mode)
        do throws(Errno) {
            try file.write(bytes)
            if durable { try file.sync() }
            try folder.rename(temporary, to: target, as: name, replacing: true)
        } catch {
            try? folder.removeFile(temporary)
            throw error
        }
    }

    /// Removes what an interrupted command left.
    ///
    /// Only for the holder of the clone lock.
    func empty() throws(Errno) {
        for entry in try directory.entries() where entry.kind != .directory {
            try directory.removeFile(entry.name)
        }
    }
}
