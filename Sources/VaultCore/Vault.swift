internal import VaultCrypto
public import VaultFormat
package import VaultSystem

/// A clone of a vault on this machine: its encrypted store, its keys and its working copy.
///
/// Reading functions take no lock and see the state before or after a concurrent change, never between. Writing
/// functions hold the clone's lock (`locked` when another process keeps it too long). Functions that talk to a
/// remote say so by taking one, and are `async`.
public final class Vault: Sendable {
    let environment: VaultEnvironment
    let layout: CloneLayout
    let files: LocalFiles
    let cipher: VaultCipher
    let readKey: ReadKey
    let ids: DerivedIDs
    let store: ObjectStore
    let refs: RefStore
    let lockTimeout: Double
    let verb: String
    let keys: KeyHolder
    /// Which part of the vault is held here; the whole of it until the clone's state was read.
    let heldPart = Locked(HeldPart())
    /// `clone_mode.json`, present on read-only clones.
    let readOnlyBranch: String?

    /// The id of the vault.
    public let vaultID: VaultID
    /// How this clone may be used.
    public let mode: CloneMode

    init(
        environment: VaultEnvironment, layout: CloneLayout, keys: KeyHolder, mode: CloneMode, readOnlyBranch: String?,
        lockTimeout: Double, verb: String
    ) throws(VaultError) {
        self.environment = environment
        self.layout = layout
        self.keys = keys
        self.mode = mode
        self.readOnlyBranch = readOnlyBranch
        self.lockTimeout = lockTimeout
        self.verb = verb
        files = LocalFiles(layout: layout)
        vaultID = keys.vaultID
        let readKey = keys.readKey
        self.readKey = readKey
        let vaultID = keys.vaultID
        cipher = try decoding("preparing the cipher") { () throws(FormatError) in try VaultCipher(readKey: readKey) }
        ids = try decoding("deriving ids") { () throws(FormatError) in
            try DerivedIDs(readKey: readKey, vaultID: vaultID)
        }
        store = ObjectStore(layout: layout)
        refs = RefStore(layout: layout, cipher: cipher, clock: environment.clock)
    }

    /// The vault root, as text for messages.
    public var root: String { layout.rootPath.text }

    /// The vault root.
    package var rootPath: FilePath { layout.rootPath }

    /// Takes the clone lock and finishes or undoes what an interrupted command left.
    ///
    /// * `settling`: Refuse to go on when that is not possible, because the working copy would be taken for the user's
    ///   own work; other verbs go on without it.
    func lock(settling: Bool = false) throws -> CloneLock {
        let lock = try lockWithoutRecovery()
        try OwnRecord.requireWritable(layout)
        if case .stuck(let reason) = try recover(lock), settling { throw Self.unsettled(reason) }
        return lock
    }

    /// The refusal to go on beside a half-done move; what the machine or another version is to blame for keeps its code.
    static func unsettled(_ reason: VaultError) -> VaultError {
        switch reason.code {
        case .ioError, .noSpace, .permissionDenied, .readOnlyFilesystem, .formatUnsupported: return reason
        default: break
        }
        return VaultError(
            .refused,
            "an interrupted command left files half changed and that can not be mended yet: \(reason.message)",
            hint: reason.hint ?? "vaultctl pull", path: reason.path, object: reason.object, cause: reason)
    }

    /// Runs what only reads the clone under its lock, or without where this clone can not be written.
    ///
    /// * `body`: Gets the scratch area; nil where there is none.
    func reading<T>(_ body: (ScratchArea?) throws -> T) throws -> T {
        guard let lock = try lockWhereWritable() else { return try body(nil) }
        defer { withExtendedLifetime(lock.scratch) {} }
        return try body(lock.scratch)
    }

    private func lockWhereWritable() throws -> CloneLock? {
        do {
            let lock = try lockWithoutRecovery()
            _ = try recover(lock)
            return lock
        } catch let error as VaultError where error.code == .readOnlyFilesystem || error.code == .permissionDenied {
            return nil
        }
    }

    /// Takes the clone lock only, for what must work in a damaged clone.
    func lockWithoutRecovery() throws(VaultError) -> CloneLock {
        try CloneLock.acquire(layout: layout, environment: environment, timeout: lockTimeout, verb: verb)
    }

    /// Refuses on clones that can not commit.
    func requireWritable(_ what: String) throws(VaultError) {
        // A bare clone opened with the read key can not either.
        guard mode != .readOnly, mode != .bare || readOnlyBranch == nil else {
            throw VaultError(
                .readOnlyClone, "this clone holds the read key only, so it can not \(what)",
                hint: "clone again with the vault key", path: root)
        }
    }
}

/// The keys of an open clone.
///
/// The write key is derived when it is first needed.
final class KeyHolder: Sendable {
    let vaultID: VaultID
    let readKey: ReadKey
    /// Finds the vault key in text, where the key was given with the command; a clone that holds it has it in a file.
    let finder: KeyFinder?
    private let derived: Locked<WriteKey?>
    private let derive: @Sendable () throws(VaultError) -> WriteKey?

    init(
        vaultID: VaultID, readKey: ReadKey, writeKey: WriteKey? = nil, finder: KeyFinder? = nil,
        derive: @escaping @Sendable () throws(VaultError) -> WriteKey? = { () throws(VaultError) in nil }
    ) {
        self.vaultID = vaultID
        self.readKey = readKey
        self.finder = finder
        derived = Locked(writeKey)
        self.derive = derive
    }

    /// The write key, where it is at hand already.
    var heldWriteKey: WriteKey? { derived.withLock { $0 } }

    /// What proves to a remote that this clone may write.
    ///
    /// - Throws: `readOnlyClone` when only the read key is held.
    func authorization() throws(VaultError) -> WriteAuthorization {
        if let key = derived.withLock({ $0 }) { return WriteAuthorization(vaultID: vaultID, writeKey: key) }
        guard let key = try derive() else {
            throw VaultError(.readOnlyClone, "only the read key is at hand, so nothing can be published")
        }
        derived.withLock { $0 = key }
        return WriteAuthorization(vaultID: vaultID, writeKey: key)
    }
}
