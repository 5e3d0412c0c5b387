internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The body of a single write: in memory while it is small, then in a file of the vault's uploads.
final class FileBody: BodySink {
    private struct State {
        var size: Int64 = 0
        var held: [UInt8] = []
        var file: UploadFile?
        var room: RoomWatch
    }

    private let store: ServedStore
    private let vault: ServedVault
    private let limit: Int64
    private let charge: MemoryCharge
    private let state: Locked<State>

    init(_ vault: VaultID, of store: ServedStore, limit: Int64, budget: MemoryBudget) throws(Refusal) {
        self.store = store
        self.vault = store.vault(vault)
        self.limit = limit
        state = Locked(State(room: RoomWatch(store)))
        charge = try budget.charge(0)
    }

    /// Bytes so far.
    var size: Int64 { state.withLock { $0.size } }

    func receive(_ bytes: [UInt8]) throws {
        try state.withLock { state in
            state.size += Int64(bytes.count)
            guard state.size <= limit else { throw Refusal.tooLarge }
            if let file = state.file {
                try state.room.count(bytes.count)
                return try file.write(bytes)
            }
            try charge.grow(by: bytes.count)
            state.held += bytes
            guard state.held.count > ServerLimits.inlineWrite else { return }
            try store.checkRoom(for: Int64(state.held.count))
            let file = try UploadFile(in: try vault.uploadFolder())
            try file.write(state.held)
            state.held = []
            state.file = file
        }
    }

    /// Makes a large body durable before the vault's lock is taken.
    func sync() throws {
        try state.withLock { state in try state.file?.sync() }
    }

    /// Hands the content to a writer.
    func stage(_ writer: ServedVaultWriter) throws -> ServedVaultWriter.Staged {
        try state.withLock { state in
            guard let file = state.file else {
                try store.checkRoom(for: Int64(state.held.count))
                return try writer.stage(state.held)
            }
            return try file.hand(to: writer)
        }
    }
}

/// Asks for room again and again while a body arrives: its length may be unknown, and others fill the disk meanwhile.
struct RoomWatch {
    private let store: ServedStore
    private var unchecked = 0

    init(_ store: ServedStore) {
        self.store = store
    }

    /// Counts bytes that are written next.
    ///
    /// - Throws: 507 when they would take what has to stay free.
    mutating func count(_ bytes: Int) throws {
        unchecked += bytes
        guard unchecked >= ServerLimits.inlineWrite else { return }
        try store.checkRoom(for: Int64(bytes))
        unchecked = 0
    }
}

/// A file that arrives in a vault's folder of uploads; removed unless it is handed to a writer.
final class UploadFile: Sendable {
    private let folder: any Directory
    private let name: [UInt8]
    private let file: any File
    private let isHanded = Locked(false)

    init(in folder: any Directory) throws {
        self.folder = folder
        name = Array("u-\(UInt64.random(in: 0...UInt64.max))-\(UInt64.random(in: 0...UInt64.max))".utf8)
        file = try folder.createFile(name, mode: 0o666)
    }

    deinit {
        if !isHanded.withLock({ $0 }) { try? folder.removeFile(name) }
    }

    func write(_ bytes: [UInt8]) throws(Errno) {
        try file.write(bytes.span)
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
        try file.write(bytes.span, at: offset)
    }

    func sync() throws(Errno) {
        try file.sync()
    }

    /// Gives the file its place; when that fails it may be tried again.
    func publish(as path: StorePath, by writer: ServedVaultWriter) throws {
        // A try before failed when its journal stood: whoever took the lock since has finished it.
        if isHanded.withLock({ $0 }), let published = try writer.open(path)?.file,
            try published.status().inode == file.status().inode
        {
            return
        }
        let staged = try hand(to: writer)
        do {
            try writer.publish([path: staged])
        } catch {
            if writer.release(staged, as: name, to: folder) { isHanded.withLock { $0 = false } }
            throw error
        }
    }

    func hand(to writer: ServedVaultWriter) throws -> ServedVaultWriter.Staged {
        let staged = try writer.adopt(name, from: folder)
        isHanded.withLock { $0 = true }
        return staged
    }
}
