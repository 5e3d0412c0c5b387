internal import VaultSystem

/// Tells the watch over nonces which of them came from a source that gives the same bytes in every run.
package enum NonceDraws {
    /// The file that `NONCE_DRAWS` names: for every draw 12 bytes and the time, 8 bytes of nanoseconds since 1970,
    /// lowest byte first.
    private static let file: (any File)? = {
        guard let path = ProcessContext.environmentText("NONCE_DRAWS").map({ FilePath($0) }),
            let name = path.lastComponent, let folder = try? LinuxFileSystem().openDirectory(path.parent)
        else { return nil }
        return try? folder.openForAppending(name, mode: 0o600)
    }()

    /// Notes bytes of a nonce's length, where anybody asked for it.
    package static func note(_ bytes: [UInt8]) {
        guard bytes.count == 12, let file else { return }
        var record = bytes
        let now = SystemClock().nowNs
        for shift in stride(from: 0, to: 64, by: 8) { record.append(UInt8(truncatingIfNeeded: now >> shift)) }
        let whole = record
        // A draw that is not noted makes the watch report too much, never too little.
        try? file.write(whole.span)
    }
}
