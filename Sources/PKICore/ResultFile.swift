internal import VaultCrypto
internal import VaultFormat
package import VaultSystem

/// Files that results are written to: whole and verified, or not there.
public enum ResultFile {
    /// Who may read a new file.
    public enum Access: Sendable {
        /// The owner alone: plaintext of a message.
        case owner
        /// Whoever the umask lets: envelopes, signatures, bundles.
        case anybody

        var mode: UInt32 { self == .owner ? 0o600 : 0o666 }
    }

    /// Writes a file under another name, makes it durable and renames it.
    ///
    /// A link at the path is followed. What is no regular file, a FIFO for example, is written into.
    ///
    /// - Throws: `refused` when a file stands there and `replacing` is false; an I/O error.
    public static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool, access: Access
    ) throws(PKIError) {
        try write(bytes, to: FilePath(path), replacing: replacing, access: access, fileSystem: LinuxFileSystem())
    }

    package static func write(
        _ bytes: [UInt8], to path: FilePath, replacing: Bool, access: Access, fileSystem: any FileSystem,
        cancellation: any Cancellation = NoCancellation()
    ) throws(PKIError) {
        try write(
            to: path, replacing: replacing, access: access, fileSystem: fileSystem, cancellation: cancellation
        ) { (file) throws(PKIError) in
            try attempt("cannot write \(path.text)", path: path) { () throws(Errno) in try file.write(bytes.span) }
        }
    }

    /// The same for content that `content` writes into the open file; when it throws, there is no file.
    ///
    /// * `cancellation`: Asked once the content is written: what somebody wished to stop does not get its name.
    package static func write<Result>(
        to path: FilePath, replacing: Bool, access: Access, fileSystem: any FileSystem,
        cancellation: any Cancellation = NoCancellation(), content: (any File) throws(PKIError) -> Result
    ) throws(PKIError) -> Result {
        let what = "cannot write \(path.text)"
        let place = try attempt(what, path: path) { () throws(Errno) in try fileSystem.outputPlace(path) }
        switch place {
        case .stream(let real):
            return try content(try attempt(what, path: path) { () throws(Errno) in try fileSystem.openStream(real) })
        case .file(let real, let mode):
            guard mode == nil || replacing else { throw exists(path) }
            guard let name = real.lastComponent else {
                throw PKIError(.usage, "\(path.text) is not the name of a file", path: path.text)
            }
            let random = try crypto("drawing a name") { () throws(CryptoError) in try SecureRandom().bytes(6) }
            let temporary = Array(".".utf8) + name.prefix(100) + Array(".part-".utf8) + Hex.encode(random.span)
            let folder = try attempt(what, path: path) { () throws(Errno) in try fileSystem.openDirectory(real.parent) }
            // Subject to the umask, which setting the mode afterwards would not be.
            let file = try attempt(what, path: path) { () throws(Errno) in
                try folder.createFile(temporary, mode: access.mode)
            }
            let result: Result
            do throws(PKIError) {
                result = try content(file)
                try checkStop(cancellation)
                try publish(file, temporary, as: name, in: folder, replacing: replacing, path)
            } catch {
                try? folder.removeFile(temporary)
                throw error
            }
            try attempt(what, path: path) { () throws(Errno) in try folder.sync() }
            return result
        }
    }

    private static func publish(
        _ file: any File, _ temporary: [UInt8], as name: [UInt8], in folder: any Directory, replacing: Bool,
        _ path: FilePath
    ) throws(PKIError) {
        do throws(Errno) {
            try file.sync()
            try folder.rename(temporary, to: folder, as: name, replacing: replacing)
        } catch {
            throw error == .fileExists ? exists(path) : PKIError.io(error, "cannot write \(path.text)", path: path)
        }
    }

    private static func exists(_ path: FilePath) -> PKIError {
        PKIError(.refused, "\(path.text) exists already", hint: "--force replaces it", path: path.text)
    }
}
