import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI
@testable import VaultCore

/// The readers of a clone's own files, of a folder remote's journal and of the user's settings.
enum CloneParsers {
    /// A clone's folders without a vault in them, in memory.
    private struct Place: Sendable {
        let memory: InMemoryFileSystem
        let layout: CloneLayout
        let files: LocalFiles

        init() throws {
            memory = InMemoryFileSystem(clock: VaultScene.clock)
            try memory.createDirectory("/c", mode: 0o700)
            let vault = "/c/.sg_vault"
            let folders = ["", "/bare", "/bare/data", "/bare/refs", "/bare/keys", "/bare/indexes", "/local"]
            for name in folders + ["/local/vaultctl"] {
                try memory.createDirectory(FilePath(vault + name), mode: 0o700)
            }
            layout = try CloneLayout(root: memory.openDirectory("/c"), path: "/c")
            files = LocalFiles(layout: layout)
        }

        /// Writes a file below `local`.
        func put(_ name: String, _ bytes: [UInt8]) throws {
            try memory.writeFile(FilePath("/c/.sg_vault/local/" + name), bytes)
        }
    }

    private static let shared = Result { try Place() }
    private static let tracked = Result { try RefID("ref-pid-muw-3fee90e52cdf") }

    static func config(_ bytes: [UInt8]) throws {
        let value = try JSONReader.parse(bytes.span)
        let config = try CloneConfig(reading: value)
        let text = JSONWriter.bytes(config.json, .pythonIndented2)
        let again = try? CloneConfig(reading: JSONReader.parse(text.span))
        guard let again else { throw FuzzTarget.Broken("a configuration does not come back") }
        let isSame =
            again.myBranchID == config.myBranchID && again.isReadOnly == config.isReadOnly
            && again.isSparse == config.isSparse && again.lastRemoteHead == config.lastRemoteHead
            && again.remoteHeadsFile == config.remoteHeadsFile && again.scopePaths == config.scopePaths
            && again.shallowBoundaries == config.shallowBoundaries
        try FuzzTarget.require(isSame, "a configuration comes back otherwise")
    }

    static func settings(_ bytes: [UInt8]) throws {
        let place = try shared.get()
        try place.put("vaultctl/config.json", bytes)
        if let own = try? CloneSettings(files: place.files) {
            _ = own.names.map { own[$0] }
            _ = own.cachesKeys && own.signsCommits && own.scansForSecrets
        }
        let path = FilePath("/c/.sg_vault/local/vaultctl/config.json")
        guard let file = try SettingsFile.read(.user, path, fileSystem: place.memory) else { return }
        _ = file.unknownNames
        try place.put("vaultctl/config.json", file.bytes)
        let again = try? SettingsFile.read(.user, path, fileSystem: place.memory)
        try FuzzTarget.require(again?.members == file.members, "settings do not come back")
    }

    static func folderJournal(_ bytes: [UInt8]) throws {
        guard let journal = FolderJournal(bytes) else { return }
        try FuzzTarget.require(FolderJournal(journal.bytes) == journal, "a journal does not come back")
        for step in journal.steps {
            let target = step.target.text.split(separator: "/", omittingEmptySubsequences: false)
            let leads = target.contains { $0.isEmpty || $0 == "." || $0 == ".." } || target.first != "bare"
            try FuzzTarget.require(!leads, "a journal leads elsewhere: \(step.target.text)")
            try FuzzTarget.require(step.temporary?.contains(UInt8(ascii: "/")) != true, "a scratch file elsewhere")
        }
    }

    static func cloneJournal(_ bytes: [UInt8]) throws {
        let place = try shared.get()
        try place.put("vaultctl/journal", bytes)
        try place.put("vaultctl/stashing", bytes)
        _ = try? StashJournal.read(place.files)
        _ = try Journal.read(place.files)
    }

    /// With the magic and a digest that fits, as only this program writes it.
    static func statCache(_ bytes: [UInt8]) throws {
        let place = try shared.get()
        try place.put("vaultctl/stat-cache", bytes)
        _ = StatCache.load(layout: place.layout)
        let body = Array("vctlstc1".utf8) + bytes
        try place.put("vaultctl/stat-cache", body + SHA256.hash(body.span))
        guard let cache = StatCache.load(layout: place.layout) else { return }
        _ = cache.position(of: Array("a/b".utf8))
        _ = cache.hasEntries(below: Array("a".utf8))
        _ = cache.rebased(on: [], tree: nil)
    }

    /// With and without a digest that fits.
    static func derivedKeys(_ bytes: [UInt8]) throws {
        let place = try shared.get()
        let bound = Array(bytes.prefix(40).suffix(32))
        try place.put("vaultctl/derived-keys", bytes)
        _ = KeyCache.load(layout: place.layout, vaultKeyDigest: bound)
        try place.put("vaultctl/derived-keys", bytes + SHA256.hash(bytes.span))
        let isRead = KeyCache.load(layout: place.layout, vaultKeyDigest: bound) != nil
        let isOne = bytes.count == 104 && bytes.starts(with: Array("vctlkey2".utf8))
        try FuzzTarget.require(isRead == isOne, "keys of \(bytes.count) bytes: \(isRead)")
    }

    /// The small files of `local`, each with the same bytes.
    static func localFiles(_ bytes: [UInt8]) throws {
        let place = try shared.get()
        let config = CloneConfig(myBranchID: nil, isReadOnly: false, lastRemoteHead: nil)
        let ref = try tracked.get()
        try place.put(RemoteHeads.fileName, bytes)
        _ = try? RemoteHeads(files: place.files, config: config, tracked: ref)[ref]
        try place.put("vaultctl/baselines.json", bytes)
        _ = try? RemoteHeads.others(ref, place.files)
        _ = try? RemoteHeads(files: place.files, at: RemotePlace(text: "/r"))
        try place.put("vaultctl/unpushed-tags.json", bytes)
        _ = try? PendingTag.all(place.files)
        try place.put(Reflog.fileName, bytes)
        _ = try Reflog(files: place.files).entries()
    }
}
