internal import VaultCrypto
internal import VaultFormat
package import VaultSystem

/// The folder that holds own identities and contacts, shared with the reference: `~/.sg-send` (08-pki §6).
///
/// `keys/sha256_…/` holds one identity each, `keyring/sha256_….json` one contact each. Nothing is kept in memory between
/// two calls, so both tools can use one store at the same time; every file appears whole or not at all.
public struct KeyStore: Sendable {
    /// The folder; it is made when the first key is added.
    let folder: FilePath
    let fileSystem: any FileSystem
    let clock: any Clock
    let random: any RandomSource

    /// A store in a folder, which need not be there yet.
    public init(path: String) {
        self.init(folder: FilePath(path))
    }

    package init(
        folder: FilePath, fileSystem: any FileSystem = LinuxFileSystem(), clock: any Clock = SystemClock()
    ) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.clock = clock
        random = SecureRandom()
    }

    /// What a store lists, and what it had to leave out.
    public struct Listing<Item: Sendable>: Sendable {
        /// In the order of the file names.
        public let items: [Item]
        /// One for every entry that was left out or is odd.
        public let warnings: [PKIWarning]
    }

    static let keysName = Array("keys".utf8)
    static let contactsName = Array("keyring".utf8)

    /// Opens one of the two folders; nil when it is not there.
    func open(_ name: [UInt8]) throws(PKIError) -> (any Directory)? {
        do throws(Errno) {
            return try fileSystem.openDirectory(folder).openDirectory(name)
        } catch {
            if error == .noSuchFile { return nil }
            throw .io(error, "cannot open the key store \(folder.text)", path: folder)
        }
    }

    /// Opens one of the two folders, making it and what is missing above it, for nobody else to read.
    ///
    /// What was made is durable when this returns: a key is lost with any folder on the way to it. One that the reference
    /// made, open to others, is closed to them (spec 10 B.7). The folder above may be any that the user named, and stays
    /// as it is.
    func openCreating(_ name: [UInt8]) throws(PKIError) -> any Directory {
        try attempt("cannot make the key store \(folder.text)", path: folder) { () throws(Errno) in
            let missing = try missingFolders()
            try fileSystem.createDirectories(folder, mode: 0o700)
            let parent = try fileSystem.openDirectory(folder)
            let isNew = try parent.statusIfPresent(of: name) == nil
            let directory = try parent.openDirectory(name, creatingWith: 0o700)
            if isNew { try parent.sync() }
            for path in missing { try fileSystem.openDirectory(path.parent).sync() }
            let mode = try directory.status().mode & 0o7777
            if mode & 0o077 != 0 {
                // Where it is somebody else's, or there are no modes, it cannot be changed and is used all the same.
                try? parent.openFile(name).setMode(mode & 0o700)
            }
            return directory
        }
    }

    /// The store's folder and those above it that are not there yet.
    private func missingFolders() throws(Errno) -> [FilePath] {
        var missing: [FilePath] = []
        var path = folder
        while path.parent != path {
            do throws(Errno) {
                _ = try fileSystem.status(of: path, followLinks: true)
                break
            } catch {
                guard error == .noSuchFile else { throw error }
            }
            missing.append(path)
            path = path.parent
        }
        return missing
    }

    /// The names in a folder that stand for fingerprints, in order.
    func fingerprints(in directory: any Directory, suffix: String) throws(PKIError) -> [(Fingerprint, [UInt8])] {
        let names = try attempt("cannot read the key store \(folder.text)", path: folder) { () throws(Errno) in
            try directory.entries().map(\.name)
        }
        let end = Array(suffix.utf8)
        return names.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name in
            guard name.count > end.count, name.suffix(end.count).elementsEqual(end),
                let fingerprint = Fingerprint(fileName: Array(name.dropLast(end.count)))
            else { return nil }
            return (fingerprint, name)
        }
    }

    /// Writes a file under a fresh name, makes it durable and renames it over what stands there.
    ///
    /// A link at the name is replaced, not followed.
    ///
    /// * `mode`: Subject to the umask.
    func write(_ bytes: [UInt8], as name: [UInt8], in directory: any Directory, mode: UInt32) throws(PKIError) {
        let (temporary, file) = try createHeld(in: directory, mode: mode) { TemporaryName.file($0) }
        try attempt("cannot write to the key store \(folder.text)", path: folder) { () throws(Errno) in
            do throws(Errno) {
                try file.write(bytes.span)
                try file.sync()
                try directory.rename(temporary, to: directory, as: name, replacing: true)
            } catch {
                try? directory.removeFile(temporary)
                throw error
            }
            try directory.sync()
        }
    }

    /// 16 random hex digits.
    func freshName() throws(PKIError) -> [UInt8] {
        let bytes = try crypto("drawing a name") { () throws(CryptoError) in try random.bytes(8) }
        return Hex.encode(bytes.span)
    }

    /// Everybody whose keys are known: contacts first, then own keys that are no contacts' too.
    func knownKeys() throws(PKIError) -> [KnownKey] {
        let contacts = try contacts().items
        let own = try identities().items.map(\.identity)
        return contacts.map { KnownKey(identity: $0, source: .contact) }
            + own.map { KnownKey(identity: $0, source: .ownKey) }
    }

    /// Everybody whose signatures can be verified with this store.
    ///
    /// Entries that cannot be read are left out; ``identities()`` and ``contacts()`` tell of them. Anybody can pair the
    /// signing key of others with an encryption key of their own: where several hold one signing key, an own key pair
    /// stands before contacts.
    ///
    /// * `signer`: Who stands before everybody, as the caller asks whether it is this one.
    public func knownSigners(preferring signer: PublicIdentity? = nil) throws(PKIError) -> KnownSigners {
        let known = try knownKeys()
        let own = known.filter { $0.source == .ownKey }
        let sorted = own + known.filter { $0.source != .ownKey }
        return KnownSigners(sorted.filter { $0.identity == signer } + sorted)
    }

    /// Whose signature a person asks for: as ``recipient(named:)``, or the whole fingerprint of a signing key.
    ///
    /// - Throws: `keyNotFound`, also when several are meant, or when who is meant has no signing key.
    public func signer(named name: String) throws(PKIError) -> KnownKey {
        let digits = Fingerprint(name) ?? Fingerprint("sha256:" + name)
        let known = try knownKeys()
        if let digits, !known.contains(where: { $0.identity.fingerprint == digits }) {
            let holders = known.filter { $0.identity.signingFingerprint == digits }
            guard holders.allSatisfy({ $0.identity == holders[0].identity }) else {
                throw PKIError(
                    .keyNotFound, "several keys known here have the signing key \(digits)",
                    hint: "name one by its own fingerprint: vaultctl pki contacts")
            }
            if let holder = holders.first { return holder }
        }
        let found = try recipient(named: name)
        guard found.identity.signing != nil else {
            throw PKIError(
                .keyNotFound,
                "\(found.identity.label.labelForDisplay) (\(found.identity.fingerprint)) has no signing key",
                hint: "vaultctl pki contacts")
        }
        return found
    }

    /// The key to seal to that a person names: a fingerprint in any case, its first four digits or more, or a label.
    ///
    /// A contact comes before an own key of the same fingerprint.
    /// - Throws: `keyNotFound`, also when several are meant.
    public func recipient(named name: String) throws(PKIError) -> KnownKey {
        var seen: Set<Fingerprint> = []
        let known = try knownKeys().filter { seen.insert($0.identity.fingerprint).inserted }
        return try KeyReference(name).choose(
            from: known, kind: "contact or own key", hint: "see vaultctl pki contacts and vaultctl pki list"
        ) { ($0.identity.fingerprint, $0.identity.label) }
    }
}
