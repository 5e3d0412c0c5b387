internal import VaultFormat
internal import VaultSystem

/// The one lock of a clone, held by every command that writes (spec 05 §10).
///
/// The kernel releases it with the process, so there are no stale locks. Holding it is the permission to use the
/// scratch area.
struct CloneLock: ~Copyable, Sendable {
    let scratch: ScratchArea
    private let file: any File

    /// Waits up to `timeout` seconds; 0 fails at once.
    ///
    /// * `verb`: Is written into the lock file for others to read; empty leaves the file as it is.
    ///
    /// - Throws: `locked`, naming the holder, `refused` when the vault is not in its place any more, `cancelled`.
    static func acquire(
        layout: CloneLayout, environment: VaultEnvironment, timeout: Double, verb: String
    ) throws(VaultError) -> CloneLock {
        guard let own = try layout.ownFolder(create: true) else {
            throw VaultError(.readOnlyFilesystem, "the clone can not be written", path: layout.rootPath.text)
        }
        let file = try attempt("cannot open the clone lock", path: layout.rootPath.text) { () throws(Errno) in
            try own.openForAppending("lock".bytes, mode: 0o600)
        }
        var wait = LockWait(
            environment, seconds: timeout, for: "the lock of the clone (\(holder(own, environment.clock)))")
        while true {
            let taken = try attempt("cannot take the clone lock") { () throws(Errno) in try file.lock(wait: false) }
            if taken { break }
            guard try wait.pause(milliseconds: 10) else {
                throw VaultError(
                    .locked, "another command is changing this clone (\(holder(own, environment.clock)))",
                    hint: "wait for it, or raise --lock-timeout", path: layout.rootPath.text)
            }
        }
        // Who held it may have let another vault take this one's place: work done here would be in nobody's history.
        let isInPlace = try attempt("cannot look for the vault", path: layout.rootPath.text) { () throws(Errno) in
            try layout.isInPlace()
        }
        guard isInPlace else {
            throw VaultError(
                .refused, "another command replaced or removed the vault of this clone meanwhile; nothing was changed",
                hint: "run the command again", path: layout.rootPath.text)
        }
        if !verb.isEmpty { writeHolder(file, verb: verb, clock: environment.clock) }
        let scratch = ScratchArea(directory: try layout.ownSubfolder("tmp"), random: environment.random)
        try attempt("cannot empty local/vaultctl/tmp") { () throws(Errno) in try scratch.empty() }
        return CloneLock(scratch: scratch, file: file)
    }

    /// Takes the lock when it is free at once and the clone can be written; nil otherwise.
    ///
    /// For caches only.
    static func tryAcquire(layout: CloneLayout, environment: VaultEnvironment, verb: String) -> CloneLock? {
        do throws(VaultError) {
            return try acquire(layout: layout, environment: environment, timeout: 0, verb: verb)
        } catch {
            return nil
        }
    }

    private static func holder(_ own: any Directory, _ clock: any Clock) -> String {
        guard let bytes = try? own.contents("lock", limit: 4096), !bytes.isEmpty else { return "holder unknown" }
        let text = String(decoding: bytes.filter { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self)
        let words = text.split(separator: " ")
        guard words.count > 3, words.suffix(3).first == "since", words.last == "ms",
            let since = Int64(words[words.count - 2])
        else { return text }
        let seconds = max(0, (clock.nowMs &- since) / 1000)
        return words.dropLast(3).joined(separator: " ") + " for \(seconds) s"
    }

    /// The text is for people only; failing to write it harms nothing.
    private static func writeHolder(_ file: any File, verb: String, clock: any Clock) {
        let text = "pid \(ProcessContext.processID) on \(ProcessContext.hostName), \(verb), since \(clock.nowMs) ms"
        do throws(Errno) {
            try file.truncate(to: 0)
            try file.write(text.bytes.span)
        } catch {}  // advisory text
    }
}
