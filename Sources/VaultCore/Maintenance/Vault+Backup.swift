internal import VaultCrypto
internal import VaultFormat
package import VaultSystem

extension Vault {
    /// Writes the encrypted store and what is needed to work on with it into one zip, in the form of the reference
    /// (spec 05 §14), with its SHA-256 and its manifest beside it.
    ///
    /// The file has mode 0600, is read again whole and checked before it gets its name, and appears complete or not at
    /// all. Uncommitted work, stashes and tags that were not pushed are not in it; the observer is warned of the latter
    /// two.
    ///
    /// * `path`: Nil means a new file in `.sg_vault/backups`.
    /// - Throws: `dirtyTree`, `refused` for an existing file, `keyMissing` when the key is wanted and not held,
    ///   `objectCorrupt` for a damaged object, or an I/O error. No file is left then.
    public func backup(
        to path: String? = nil, _ options: BackupOptions = BackupOptions(), observer: any Observer = SilentObserver()
    ) throws -> BackupResult {
        try backup(to: path.map { FilePath($0) }, options, observer: observer)
    }

    /// The same with a path of any bytes.
    package func backup(
        to path: FilePath?, _ options: BackupOptions, observer: any Observer
    ) throws -> BackupResult {
        let label = options.label
        guard (1...40).contains(label.utf8.count), label.utf8.allSatisfy(Self.isLabelByte) else {
            throw VaultError(.usage, "a label has 1 to 40 letters, digits, '_' and '-'")
        }
        if !options.allowsDirty, mode != .bare, try !status().isClean {
            throw VaultError(
                .dirtyTree, "there are uncommitted changes, which a backup does not hold",
                hint: "vaultctl commit, or --allow-dirty")
        }
        return try reading { _ in
            try BackupWriter(vault: self, options: options, observer: observer).write(to: path)
        }
    }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        byte == 0x5F || byte == 0x2D || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// Checks a backup as far as that can be done without a key: its recorded SHA-256, every checksum, every object.
    ///
    /// - Throws: `objectCorrupt`, `formatUnsupported`, `refused` for what is no backup, or an I/O error.
    public static func verifyBackup(_ path: String) throws -> BackupResult {
        try verifyBackup(FilePath(path), environment: .production())
    }

    /// The same with the file system handed in.
    package static func verifyBackup(_ path: FilePath, environment: VaultEnvironment) throws -> BackupResult {
        let (file, digest) = try openBackup(path, environment)
        let backup = try BackupFile(file, name: path.text)
        let objects = try backup.verify(pool: environment.pool)
        let size = try attempt("cannot read \(path.text)") { () throws(Errno) in try file.status().size }
        return BackupResult(
            path: path.text, bytes: size, sha256: digest, objects: objects, includesKey: backup.holds(.vaultKey))
    }

    /// Opens a backup; its SHA-256 fits the one recorded beside it, where there is one.
    static func openBackup(
        _ path: FilePath, _ environment: VaultEnvironment
    ) throws -> (file: any File, sha256: String) {
        guard let name = path.lastComponent else { throw VaultError(.usage, "the backup needs a name") }
        let (file, recorded) = try attempt("cannot open \(path.text)", path: path.text) {
            () throws(Errno) -> (any File, [UInt8]?) in
            let real = try environment.fileSystem.canonicalPath(path)
            let folder = try environment.fileSystem.openDirectory(real.parent)
            let beside = try environment.fileSystem.openDirectory(path.parent)
            return (
                try folder.openFile(real.lastComponent ?? name),
                try beside.readFileIfPresent(name + BackupWriter.digestEnding, limit: 4096)
            )
        }
        let digest = try file.wholeDigest()
        if let recorded {
            let text = String(decoding: recorded.prefix { $0 > 0x20 }, as: UTF8.self)
            guard text == digest else {
                throw VaultError(
                    .objectCorrupt, "\(path.text) is not the backup that its .sha256 is of", path: path.text)
            }
        }
        return (file, digest)
    }
}

/// Writes one backup, under the clone's lock.
struct BackupWriter {
    let vault: Vault
    let options: BackupOptions
    let observer: any Observer

    static let digestEnding = ".sha256".bytes
    private static let manifestEnding = ".manifest.json".bytes

    func write(to path: FilePath?) throws -> BackupResult {
        let state = try vault.loadState()
        // Also where it can not be told whether there are any.
        if (try? StashShelf(vault: vault).count()) != 0 { observer.warning("stashes are not in a backup") }
        if try !vault.pendingTags().isEmpty {
            observer.warning("that tags were made or deleted and not pushed yet is not in a backup")
        }
        let now = vault.environment.clock.nowMs
        let (folder, place) = try target(path, now)
        guard let name = place.lastComponent else { throw VaultError(.usage, "the backup needs a name") }
        let isThere = try attempt("cannot look at \(place.text)") { () throws(Errno) in
            try folder.statusIfPresent(of: name) != nil
        }
        guard options.replaces || !isThere else {
            throw VaultError(.refused, "\(place.text) exists already", hint: "--force replaces it", path: place.text)
        }
        let random = try crypto("random names") { () throws(CryptoError) in try vault.environment.random.bytes(6) }
        // What a crash leaves of it may hold the key and lie in a working copy: a name that no commit takes.
        let temporary = "\(RekeyWork.oldPrefix)backup_".bytes + Hex.encode(random.span)
        let file = try attempt("cannot write to the folder of \(place.text)", path: place.text) {
            () throws(Errno) in try folder.createFile(temporary, mode: 0o600)
        }
        do {
            let objects = try fill(file, state, now)
            try attempt("cannot write \(place.text)", path: place.text) { () throws(Errno) in try file.sync() }
            let check = try BackupFile(file, name: place.text)
            guard try check.verify(pool: vault.environment.pool) == objects, check.skipped.allSatisfy(isOurs) else {
                throw VaultError(.ioError, "the backup does not read as it was written", path: place.text)
            }
            let size = try attempt("cannot read \(place.text)") { () throws(Errno) in try file.status().size }
            let digest = try file.wholeDigest()
            let result = BackupResult(
                path: place.text, bytes: size, sha256: digest, objects: objects, includesKey: options.includesKey)
            try publish(temporary, as: name, in: folder, result, state, now)
            return result
        } catch {
            try? folder.removeFile(temporary)
            throw error
        }
    }

    /// Caches and what other programs keep in the store are copied and not restored.
    private func isOurs(_ name: String) -> Bool { name.hasPrefix("bare/") || name.hasPrefix("\"bare/") }

    private func target(_ path: FilePath?, _ now: Int64) throws -> (folder: any Directory, path: FilePath) {
        if let path {
            let folder = try attempt("cannot open the folder of \(path.text)", path: path.text) { () throws(Errno) in
                try vault.environment.fileSystem.openDirectory(path.parent)
            }
            return (folder, path)
        }
        let folder = try attempt("cannot make the folder of backups") { () throws(Errno) in
            try vault.layout.vault.openDirectory("backups".bytes, creatingWith: 0o700, durably: true)
        }
        let place = vault.rootPath.appending(component: ".sg_vault").appending(component: "backups")
        return (folder, place.appending(component: Self.fileName(vault.vaultID, options.label, now)))
    }

    /// The reference's name for a backup.
    static func fileName(_ id: VaultID, _ label: String, _ now: Int64) -> String {
        let stamp = LocalTime.utc(ms: now).prefix(19).map { $0 == ":" ? "-" : $0 }
        return "\(id.text)__\(String(stamp))Z__\(label).zip"
    }

    /// Writes every member.
    private func fill(_ file: any File, _ state: CloneState, _ now: Int64) throws -> Int {
        var zip = ZipFileWriter(file)
        var objects = 0
        // A program that takes no lock may go on meanwhile. What names objects is read first and they are listed after
        // it, so that what it names is in the backup, which may lack what came later.
        let naming = try namingFiles()
        let local = try BackupMember.localNames.map { (name) throws(VaultError) in (name, try vault.files.read(name)) }
        let paths = try storedPaths(naming)
        for (number, path) in paths.enumerated() {
            try vault.environment.pool.checkCancellation()
            observer.progress(Progress(phase: .copy, done: number, total: paths.count))
            let name = Self.memberName(path)
            try attempt("cannot copy \(PathQuoting.text(name))") { () throws(Errno) in
                if let bytes = naming[path] { return try zip.add(name, bytes.span) }
                let folder = try vault.layout.vault.openDirectory(path: path.dropLast()) ?? vault.layout.vault
                try zip.add(name, from: try folder.openFile(path.last ?? []))
            }
            if case .stored(.object)? = BackupMember(name: name) { objects += 1 }
        }
        for (name, bytes) in local {
            guard let bytes else { continue }
            try attempt("cannot copy local/\(name)") { () throws(Errno) in
                try zip.add("local/\(name)".bytes, bytes.span)
            }
        }
        if options.includesKey { try addKeys(&zip) }
        let manifest = JSONWriter.bytes(try manifest(state, objects: objects, size: 0, now), .pythonIndented2)
        try attempt("cannot write the backup") { () throws(Errno) in
            try zip.add(BackupMember.manifestName.bytes, manifest.span)
            _ = try zip.finish()
        }
        return objects
    }

    private func addKeys(_ zip: inout ZipFileWriter) throws {
        guard let key = try Vault.vaultKeyText(vault.layout) else {
            throw VaultError(
                .keyMissing, "this clone holds no vault key that the backup could include", path: vault.root)
        }
        func add(_ name: String, _ secret: borrowing SecretBytes) throws(VaultError) {
            var failure: Errno?
            var writer = zip
            secret.withBytes { bytes in
                do throws(Errno) { try writer.add(name.bytes, bytes) } catch { failure = error }
            }
            zip = writer
            if let failure { throw .io(failure, "cannot write the backup") }
        }
        try add(BackupMember.vaultKeyName, key)
        let names = try attempt("cannot list local/") { () throws(Errno) in try vault.layout.local.entries() }
            .map { "local/" + String(decoding: $0.name, as: UTF8.self) }.sorted()
        for name in names {
            guard case .signingKey(let id)? = BackupMember(name: name.bytes) else { continue }
            let file = try attempt("cannot read \(name)") { () throws(Errno) in
                try vault.layout.local.openFile("\(id.text).pem".bytes)
            }
            let size = try attempt("cannot read \(name)") { () throws(Errno) in try file.status().size }
            guard size > 0, size <= 8192 else { continue }
            try add(name, try SecretBytes(reading: file, count: Int(size)))
        }
    }

    /// What indexes and refs hold, by path; the refs that an index names are there before it.
    private func namingFiles() throws(VaultError) -> [[[UInt8]]: [UInt8]] {
        var found: [[[UInt8]]: [UInt8]] = [:]
        for (leaf, folder) in [("indexes", vault.layout.indexes), ("refs", vault.layout.refs)] {
            let entries = try attempt("cannot list the \(leaf)") { () throws(Errno) in try folder.entries() }
            for entry in entries {
                let path = ["bare".bytes, leaf.bytes, entry.name]
                guard let member = Self.naming(path) else { continue }
                found[path] = try attempt("cannot copy \(PathQuoting.text(entry.name))") { () throws(Errno) in
                    guard try folder.statusIfPresent(of: entry.name)?.kind == .regular else { return nil }
                    return try folder.contents(entry.name, limit: Int(member.limit))
                }
            }
        }
        return found
    }

    /// The member that names objects at a path; nil for others.
    private static func naming(_ path: [[UInt8]]) -> BackupMember? {
        let member = BackupMember(name: memberName(path))
        switch member {
        case .stored(.ref), .stored(.index): return member
        default: return nil
        }
    }

    private static func memberName(_ path: [[UInt8]]) -> [UInt8] { Array(path.joined(separator: [UInt8(ascii: "/")])) }

    /// The path of every regular file below `bare`, one array of names each.
    ///
    /// * `naming`: What names objects and was read before; what came since is left out.
    private func storedPaths(_ naming: [[[UInt8]]: [UInt8]]) throws(VaultError) -> [[[UInt8]]] {
        let found = try attempt("cannot list the store") { () throws(Errno) in
            var found: [[[UInt8]]] = []
            var pending: [(folder: any Directory, path: [[UInt8]])] = [(vault.layout.bare, ["bare".bytes])]
            while let next = pending.popLast() {
                // The store has three levels; more is not of any program we know.
                guard next.path.count <= 8 else { continue }
                for entry in try next.folder.entries() {
                    let path = next.path + [entry.name]
                    switch try next.folder.statusIfPresent(of: entry.name)?.kind {
                    case .directory: pending.append((try next.folder.openDirectory(entry.name), path))
                    case .regular: found.append(path)
                    default: continue
                    }
                }
            }
            return found
        }
        return (found.filter { Self.naming($0) == nil } + naming.keys).sorted { left, right in
            left.lexicographicallyPrecedes(right) { $0.lexicographicallyPrecedes($1) }
        }
    }

    private func manifest(_ state: CloneState, objects: Int, size: Int64, _ now: Int64) throws(VaultError) -> JSONValue
    {
        let generation = try vault.files.readObject(CloneConfig.fileName)?["key_generation"]?.int ?? 1
        return .record([
            "schema_version": .integer(1),
            "vault_id": .string(vault.vaultID.text),
            "key_generation": .integer(generation),
            "created_at": .integer(now),
            "created_by": .string("vaultctl"),
            "label": .string(options.label),
            "includes_key": .bool(options.includesKey),
            "object_count": .integer(Int64(objects)),
            "byte_size": .integer(size),
        ])
    }

    /// Names the file; without its digest beside it, which follows, it counts all the same.
    private func publish(
        _ temporary: [UInt8], as name: [UInt8], in folder: any Directory, _ result: BackupResult, _ state: CloneState,
        _ now: Int64
    ) throws {
        let manifest = try manifest(state, objects: result.objects, size: result.bytes, now)
        let beside = [
            (Self.digestEnding, (result.sha256 + "\n").bytes),
            (Self.manifestEnding, JSONWriter.bytes(manifest, .pythonIndented2)),
        ]
        try attempt("cannot write \(result.path)", path: result.path) { () throws(Errno) in
            // Those of a file that is replaced must never stand beside the new one.
            for (ending, _) in beside where try folder.statusIfPresent(of: name + ending) != nil {
                try folder.removeFile(name + ending)
            }
            try folder.rename(temporary, to: folder, as: name, replacing: options.replaces)
            for (ending, bytes) in beside {
                try AtomicFile.write(
                    bytes.span, as: name + ending, in: folder, staging: folder, temporaryName: temporary + ending,
                    mode: 0o600, durability: .content)
            }
            try folder.sync()
        }
    }
}
