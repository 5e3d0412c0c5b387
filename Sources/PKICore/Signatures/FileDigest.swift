internal import VaultCrypto
internal import VaultSystem

/// The SHA-256 of files of any length, a piece at a time.
enum FileDigest {
    /// Bytes that are held at once.
    private static let pieceCount = 1 << 18

    /// Of a file named by a person; links are followed.
    static func ofFile(_ path: FilePath, cancellation: any Cancellation) throws(PKIError) -> [UInt8] {
        let file = try attempt("cannot read \(path.text)", path: path) { () throws(Errno) in
            let file = try LinuxFileSystem().openFile(path)
            guard try file.status().kind != .directory else { throw Errno.isADirectory }
            return file
        }
        return try of(file, name: path.text, cancellation: cancellation)
    }

    /// Of everything from the position of an open file to its end.
    /// - Throws: `cancelled` soon after somebody wishes to stop; an I/O error.
    static func of(_ file: any File, name: String, cancellation: any Cancellation) throws(PKIError) -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: pieceCount)
        var hash = try crypto("hashing") { () throws(CryptoError) in try SHA256() }
        while true {
            let count = try file.read(into: &piece, name: name)
            guard count > 0 else { break }
            try checkStop(cancellation)
            do throws(CryptoError) {
                try hash.update(piece.span.extracting(first: count))
            } catch {
                throw PKIError(.internalError, "hashing failed", cause: error)
            }
        }
        do throws(CryptoError) {
            return try hash.finish()
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
    }

    static func of(_ bytes: [UInt8]) throws(PKIError) -> [UInt8] {
        try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) }
    }
}
