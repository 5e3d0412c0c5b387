internal import VaultFormat
internal import VaultSystem

/// The stashes of a clone: this program's, each a folder of encrypted objects with a manifest, in
/// `local/vaultctl/stash`, and the reference's plain zips in `local/stash`, which are read and never rewritten (spec 03
/// §2, §13).
///
/// Not in the store: the reference's first push uploads every file there, and uncommitted work is nobody else's.
struct StashShelf {
    let vault: Vault

    private static let folderName = "stash"
    private static let manifestName = "manifest"
    private static let prefix = "stash-"
    /// What a stash is called before it counts and while it is removed: nothing of it is needed after a crash.
    private static let unfinishedPrefix = "unfinished-"
    private static let metaEnding = ".stash-meta.json"
    private static let zipLimit = 1 << 31

    // MARK: Reading

    /// All stashes, the newest first; one that can not be read keeps nobody from the others.
    func all() throws -> [StashRecord] {
        var records: [StashRecord] = []
        for name in try ownNames() {
            do throws(VaultError) { records.append(try own(name)) } catch {
                records.append(Self.damaged(name, error, isOwn: true))
            }
        }
        if let folder = try Self.folder(Self.folderName, in: vault.layout.local) {
            for name in try zipNames() {
                do throws(VaultError) { records.append(try reference(name, in: folder)) } catch {
                    records.append(Self.damaged(name, error, isOwn: false))
                }
            }
        }
        return records.sorted {
            ($0.timeMs, $0.isOwn ? 1 : 0) == ($1.timeMs, $1.isOwn ? 1 : 0)
                ? $1.name.lexicographicallyPrecedes($0.name)
                : ($0.timeMs, $0.isOwn ? 1 : 0) > ($1.timeMs, $1.isOwn ? 1 : 0)
        }
    }

    private static func damaged(_ name: [UInt8], _ error: VaultError, isOwn: Bool) -> StashRecord {
        var record = StashRecord(
            name: name, timeMs: time(of: name), base: nil, branch: nil, message: nil, files: [], isOwn: isOwn)
        record.damage = error
        return record
    }

    /// The time in the name of a stash, in milliseconds since 1970.
    private static func time(of name: [UInt8]) -> Int64 {
        let digits = name.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: ".") }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    /// One of them, which may be damaged.
    ///
    /// - Throws: `revisionNotFound` when there are not so many.
    func record(_ number: Int) throws -> StashRecord {
        let records = try all()
        guard records.indices.contains(number) else {
            throw VaultError(
                .revisionNotFound, records.isEmpty ? "there is no stash" : "there is no stash \(number)",
                hint: "vaultctl stash list")
        }
        return records[number]
    }

    /// The stash of which something is known, under the number that it has now; nil when it is gone.
    func record(_ info: StashInfo) throws -> (number: Int, record: StashRecord)? {
        let records = try all()
        guard let number = records.firstIndex(where: { $0.info(info.number) == info }) else { return nil }
        return (number, records[number])
    }

    /// How many there are.
    ///
    /// - Throws: when that can not be told: whoever would lose them by it must not take that for none.
    func count() throws(VaultError) -> Int { try ownNames().count + zipNames().count }

    private func shelf() throws(VaultError) -> (any Directory)? {
        guard let own = try vault.layout.ownFolder(create: false) else { return nil }
        return try Self.folder(Self.folderName, in: own)
    }

    private static func folder(_ name: String, in parent: any Directory) throws(VaultError) -> (any Directory)? {
        try attempt("cannot open the stashes") { () throws(Errno) -> (any Directory)? in
            do throws(Errno) { return try parent.openDirectory(name.bytes) } catch .noSuchFile { return nil }
        }
    }

    /// Folders with a manifest.
    private func ownNames() throws(VaultError) -> [[UInt8]] {
        guard let shelf = try shelf() else { return [] }
        return try attempt("cannot list the stashes") { () throws(Errno) in
            var names: [[UInt8]] = []
            for entry in try shelf.entries() where !entry.name.starts(with: Self.unfinishedPrefix.bytes) {
                do throws(Errno) {
                    let folder = try shelf.openDirectory(entry.name)
                    if try folder.statusIfPresent(of: Self.manifestName.bytes) != nil { names.append(entry.name) }
                } catch .notADirectory {
                } catch .tooManyLinks {
                } catch .noSuchFile {  // dropped meanwhile
                } catch {
                    // It can not be looked into: reading it tells why.
                    names.append(entry.name)
                }
            }
            return names
        }
    }

    /// Whether a name is one that `newFolder` gives: nothing that leads elsewhere.
    static func isFolderName(_ name: [UInt8]) -> Bool {
        name.starts(with: prefix.bytes) && name.count <= 100 && !name.contains(UInt8(ascii: "/"))
    }

    /// Whether a stash of this program counts.
    func isSealed(_ name: [UInt8]) throws(VaultError) -> Bool { try ownNames().contains(name) }

    /// One of this program's stashes.
    func own(_ name: [UInt8]) throws(VaultError) -> StashRecord {
        let folder = try folder(name)
        let sealed = try attempt("cannot read a stash") { () throws(Errno) in
            try folder.contents(Self.manifestName, limit: Limits.metadataPlaintext)
        }
        guard let sealed else { throw StashRecord.damaged(name) }
        let bytes = try decoding("a stash") { () throws(FormatError) in
            try vault.cipher.open(sealed.span, limit: Limits.metadataPlaintext)
        }
        return try StashRecord(reading: LocalFiles.object(bytes, "a stash"), name: name)
    }

    /// The folder of one of this program's stashes.
    func folder(_ name: [UInt8]) throws(VaultError) -> any Directory {
        guard let shelf = try shelf() else { throw StashRecord.damaged(name) }
        return try attempt("cannot open a stash") { () throws(Errno) in try shelf.openDirectory(name) }
    }

    /// Reads the objects of a stash.
    func blobs(in folder: any Directory) -> BlobReader {
        BlobReader(store: ObjectStore(layout: vault.layout, folder: folder), cipher: vault.cipher)
    }

    // MARK: The reference's

    private func zipNames() throws(VaultError) -> [[UInt8]] {
        guard let folder = try Self.folder(Self.folderName, in: vault.layout.local) else { return [] }
        let entries = try attempt("cannot list the stashes") { () throws(Errno) in try folder.entries() }
        return entries.map(\.name).filter { $0.starts(with: Self.prefix.bytes) && $0.suffix(4) == ".zip".bytes[...] }
    }

    private func reference(_ name: [UInt8], in folder: any Directory) throws(VaultError) -> StashRecord {
        let meta = try attempt("cannot read a stash") { () throws(Errno) in
            try folder.contents(name.dropLast(4) + Self.metaEnding.bytes, limit: Limits.metadataPlaintext)
        }
        let value = try meta.map { (bytes) throws(VaultError) in try LocalFiles.object(bytes, "a stash") }
        var files: [StashedFile] = []
        if let value {
            for (member, kind) in [
                ("files_added", StashedFile.Kind.added), ("files_modified", .modified), ("files_deleted", .deleted),
            ] {
                for text in (value[name: member]?.items ?? []).compactMap(\.text) {
                    files.append(StashedFile(path: try Self.path(text.bytes), kind: kind, entry: nil))
                }
            }
        } else {
            try Self.addMembers(of: try zip(name), to: &files)
        }
        files.sort { $0.path < $1.path }
        return StashRecord(
            name: name, timeMs: Self.time(of: name), base: value?["base_commit"]?.text.flatMap { try? ObjectID($0) },
            branch: nil, message: nil, files: files, isOwn: false)
    }

    /// Adds the files of a zip that are not among the ones that are known.
    private static func addMembers(of zip: ZipArchive, to files: inout [StashedFile]) throws(VaultError) {
        let known = Set(files.map(\.path))
        for member in zip.names where member.last != UInt8(ascii: "/") {
            let path = try path(member)
            if !known.contains(path) { files.append(StashedFile(path: path, kind: .added, entry: nil)) }
        }
    }

    private static func path(_ bytes: [UInt8]) throws(VaultError) -> VaultPath {
        try decoding("a stash of the reference") { () throws(FormatError) in try VaultPath(bytes) }
    }

    private func zip(_ name: [UInt8]) throws(VaultError) -> ZipArchive {
        let bytes: [UInt8]?
        if let folder = try Self.folder(Self.folderName, in: vault.layout.local) {
            bytes = try attempt("cannot read a stash") { () throws(Errno) in
                try folder.contents(name, limit: Self.zipLimit)
            }
        } else {
            bytes = nil
        }
        guard let bytes else { throw StashRecord.damaged(name) }
        return try decoding("the stash \(PathQuoting.text(name))") { () throws(FormatError) in try ZipArchive(bytes) }
    }

    /// Encrypts the files of a zip into a folder that is removed afterwards, and names them in the record.
    func unpack(_ record: StashRecord, into folder: any Directory, _ scratch: ScratchArea) throws -> StashRecord {
        var record = record
        let zip = try zip(record.name)
        // Its list may be damaged, and what is in the zip may be nowhere else.
        try Self.addMembers(of: zip, to: &record.files)
        record.files.sort { $0.path < $1.path }
        let batch = batch(into: folder, scratch, width: .long)
        let writer = BlobWriter(
            cipher: vault.cipher, batch: batch, random: vault.environment.random, deflates: false)
        for index in record.files.indices where record.files[index].kind != .deleted {
            let path = record.files[index].path
            let bytes = try decoding("the stash") { () throws(FormatError) in try zip.content(of: path.bytes) }
            // The reference leaves out what it could not read.
            guard let bytes else { continue }
            record.files[index].entry = try writer.store(bytes)
                .entry(contentType: ContentType.guess(name: path.lastSegment))
        }
        try batch.commit()
        record.files.removeAll { $0.kind != .deleted && $0.entry == nil }
        return record
    }

    // MARK: Checking

    /// Folders that count as stashes and hold no manifest, with the number of their objects.
    func withoutManifest() throws(VaultError) -> [(name: [UInt8], objects: Int)] {
        guard let shelf = try shelf() else { return [] }
        let listed = Set(try ownNames())
        return try attempt("cannot list the stashes") { () throws(Errno) in
            var result: [(name: [UInt8], objects: Int)] = []
            for entry in try shelf.entries()
            where !listed.contains(entry.name) && !entry.name.starts(with: Self.unfinishedPrefix.bytes) {
                guard let folder = try? shelf.openDirectory(entry.name) else { continue }
                let count = try folder.entries().count
                if count > 0 { result.append((entry.name, count)) }
            }
            return result
        }
    }

    /// Whether a stash is there still.
    func holds(_ record: StashRecord) throws(VaultError) -> Bool {
        try (record.isOwn ? ownNames() : zipNames()).contains(record.name)
    }

    /// Reads every file of one of the reference's.
    func readZip(_ record: StashRecord) throws(VaultError) {
        let zip = try zip(record.name)
        for file in record.files where file.kind != .deleted {
            _ = try decoding("the stash \(PathQuoting.text(record.name))") { () throws(FormatError) in
                try zip.content(of: file.path.bytes)
            }
        }
    }

    // MARK: Making and removing

    /// A new folder, in which a stash is made; until it is sealed it has another name and is removed by the next command.
    ///
    /// - Returns: The name that it gets.
    func newFolder(_ timeMs: Int64) throws(VaultError) -> (name: [UInt8], folder: any Directory) {
        let shelf = try vault.layout.ownSubfolder(Self.folderName)
        try removeUnfinished(shelf)
        return try attempt("cannot make a stash") { () throws(Errno) in
            var number = timeMs
            while try shelf.statusIfPresent(of: "\(Self.prefix)\(number)".bytes) != nil { number += 1 }
            let name = "\(Self.prefix)\(number)".bytes
            try shelf.createDirectory(Self.unfinished(name), mode: 0o700)
            return (name, try shelf.openDirectory(Self.unfinished(name)))
        }
    }

    private static func unfinished(_ name: [UInt8]) -> [UInt8] { unfinishedPrefix.bytes + name }

    /// Removes a stash that was not sealed.
    func removeUnfinished(_ name: [UInt8]) {
        guard let shelf = try? shelf() else { return }
        try? shelf.removeTree(Self.unfinished(name))
    }

    /// Removes what was begun and never counted; a folder that is called otherwise is left alone, whatever it holds.
    private func removeUnfinished(_ shelf: any Directory) throws(VaultError) {
        try attempt("cannot clean up the stashes") { () throws(Errno) in
            for entry in try shelf.entries() where entry.name.starts(with: Self.unfinishedPrefix.bytes) {
                try shelf.removeTree(entry.name)
            }
        }
    }

    /// Moves folders without a manifest to the quarantine; gives their names there.
    func setAsideWithoutManifest() throws(VaultError) -> [[UInt8]] {
        guard let shelf = try shelf() else { return [] }
        var moved: [[UInt8]] = []
        for (name, _) in try withoutManifest() {
            try vault.setAside(String(decoding: name, as: UTF8.self), in: shelf)
            moved.append(name)
        }
        return moved
    }

    /// Objects on their way into a stash.
    func batch(into folder: any Directory, _ scratch: ScratchArea, width: IDWidth) -> ObjectBatch {
        ObjectBatch(
            store: ObjectStore(layout: vault.layout, folder: folder), layout: vault.layout, scratch: scratch,
            width: width, pool: vault.environment.pool, folder: folder)
    }

    /// Makes a stash one that counts; its objects are durable.
    ///
    /// - Throws: `refused` when its manifest would be larger than could be read again.
    func seal(_ record: StashRecord, in folder: any Directory, _ scratch: ScratchArea) throws(VaultError) {
        let plain = JSONWriter.bytes(record.json, .compact)
        let sealed = try decoding("encrypting a stash") { () throws(FormatError) in
            try vault.cipher.sealRandom(plain.span, random: vault.environment.random)
        }
        // What can not be read back is lost: asked now, while the work is still where it was.
        guard sealed.count <= Limits.metadataPlaintext, (try? LocalFiles.object(plain, "a stash")) != nil else {
            throw VaultError(
                .refused,
                "the list of these \(record.files.count) files is too large for a stash; nothing was changed",
                hint: "commit them, or list in .gitignore what is not to be committed")
        }
        let shelf = try vault.layout.ownSubfolder(Self.folderName)
        let own = try vault.layout.ownFolder(create: true)
        try attempt("cannot store a stash") { () throws(Errno) in
            try scratch.replace(Self.manifestName.bytes, in: folder, with: sealed.span, mode: 0o600)
            try shelf.rename(Self.unfinished(record.name), to: shelf, as: record.name, replacing: true)
            try shelf.sync()
            try own?.sync()
        }
    }

    /// Removes a stash for good.
    func remove(_ record: StashRecord) throws(VaultError) {
        if record.isOwn {
            guard let shelf = try shelf() else { return }
            try attempt("cannot remove a stash") { () throws(Errno) in
                // Under that name it does not count any more. Not exclusively: some file systems can not do that.
                try shelf.removeTree(Self.unfinished(record.name))
                try shelf.rename(record.name, to: shelf, as: Self.unfinished(record.name), replacing: true)
                try shelf.sync()
            }
            return removeUnfinished(record.name)
        }
        guard let folder = try Self.folder(Self.folderName, in: vault.layout.local) else { return }
        try attempt("cannot remove a stash") { () throws(Errno) in
            for name in [record.name, Array(record.name.dropLast(4)) + Self.metaEnding.bytes] {
                do throws(Errno) { try folder.removeFile(name) } catch .noSuchFile {}  // gone already
            }
            try folder.sync()
        }
    }
}
