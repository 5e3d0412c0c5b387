internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The five numbers by which an unchanged file is recognised (spec 03 §3).
struct StatKey: Sendable, Equatable {
    var modifiedNs: Int64
    var changedNs: Int64
    var size: Int64
    var inode: UInt64
    var device: UInt64

    init(_ status: FileStatus) {
        modifiedNs = status.modifiedNs
        changedNs = status.changedNs
        size = status.size
        inode = status.inode
        device = status.device
    }

    init(modifiedNs: Int64, changedNs: Int64, size: Int64, inode: UInt64, device: UInt64) {
        self.modifiedNs = modifiedNs
        self.changedNs = changedNs
        self.size = size
        self.inode = inode
        self.device = device
    }
}

/// A tracked file as the working copy code sees it: what the head records, and, when known, the five numbers of
/// the file on disk whose content was `diskHash`.
struct IndexEntry: Sendable, Equatable {
    var path: VaultPath
    var blobID: ObjectID
    var size: Int64
    var contentHash: ContentHash?
    /// Nil when the file was never proven.
    var stat: StatKey?
    /// The content the numbers stand for; equal to `contentHash` for an unmodified file.
    var diskHash: ContentHash?
}

/// The tracked files of the head, sorted by path bytes, with the numbers of the files on disk: what git calls the
/// index.
///
/// Kept in `local/vaultctl/stat-cache`; a wrong, older or damaged file is rebuilt silently.
struct StatCache: Sendable {
    /// The tree the entries are the files of; nil for no commit.
    var tree: ObjectID?
    var entries: [IndexEntry]

    private static let name = "stat-cache"
    private static let magic = Array("vctlstc1".utf8)
    private static let limit = 1 << 30

    /// The cache file, when it is there and sound.
    static func load(layout: CloneLayout) -> StatCache? {
        guard let own = try? layout.ownFolder(create: false),
            let bytes = try? own.contents(name, limit: limit), bytes.count > magic.count + 32,
            bytes.starts(with: magic),
            let digest = try? SHA256.hash(bytes.span.extracting(0..<bytes.count - 32)),
            digest.elementsEqual(bytes[(bytes.count - 32)...])
        else { return nil }
        return try? read(bytes.span.extracting(magic.count..<bytes.count - 32))
    }

    private static func read(_ bytes: Span<UInt8>) throws(FormatError) -> StatCache {
        var reader = ByteReader(bytes)
        let tree = try readID(&reader, bytes)
        let count = Int(try reader.uint32(bytes))
        var entries: [IndexEntry] = []
        entries.reserveCapacity(min(count, reader.remaining / 40))
        var previous: [UInt8] = []
        for _ in 0..<count {
            let shared = Int(try reader.uint16(bytes))
            let added = Int(try reader.uint16(bytes))
            guard shared <= previous.count else { throw FormatError.malformed("stat cache") }
            var path: [UInt8] = []
            path.reserveCapacity(shared + added)
            path.append(contentsOf: previous[..<shared])
            for offset in try reader.take(added) { path.append(bytes[offset]) }
            guard let blob = try readID(&reader, bytes), !path.isEmpty else {
                throw FormatError.malformed("stat cache")
            }
            let size = Int64(bitPattern: try reader.uint64(bytes))
            let flags = bytes[try reader.take(1).lowerBound]
            let hash = flags & 1 != 0 ? ContentHash(rawValue: try reader.uint64(bytes)) : nil
            var entry = IndexEntry(
                path: VaultPath(unchecked: path), blobID: blob, size: size, contentHash: hash, stat: nil, diskHash: nil)
            if flags & 2 != 0 {
                entry.stat = StatKey(
                    modifiedNs: Int64(bitPattern: try reader.uint64(bytes)),
                    changedNs: Int64(bitPattern: try reader.uint64(bytes)),
                    size: Int64(bitPattern: try reader.uint64(bytes)),
                    inode: try reader.uint64(bytes), device: try reader.uint64(bytes))
                entry.diskHash = flags & 4 != 0 ? ContentHash(rawValue: try reader.uint64(bytes)) : hash
            }
            entries.append(entry)
            previous = path
        }
        return StatCache(tree: tree, entries: entries)
    }

    private static func readID(_ reader: inout ByteReader, _ bytes: Span<UInt8>) throws(FormatError) -> ObjectID? {
        switch bytes[try reader.take(1).lowerBound] {
        case 0: return nil
        case 1: return ObjectID(high: try reader.uint64(bytes), low: 0, width: .short)
        case 2: return ObjectID(high: try reader.uint64(bytes), low: try reader.uint64(bytes), width: .long)
        default: throw FormatError.malformed("stat cache")
        }
    }

    /// Stores the cache; a failure costs the next command time, nothing else.
    func store(layout: CloneLayout, scratch: ScratchArea) {
        guard let own = try? layout.ownFolder(create: true) else { return }
        var writer = ByteWriter(capacity: 64 + entries.count * 120)
        writer.append(Self.magic)
        Self.append(tree, &writer)
        writer.append(UInt32(entries.count))
        var previous: [UInt8] = []
        for entry in entries {
            let path = entry.path.bytes
            var shared = 0
            let most = min(path.count, previous.count, Int(UInt16.max))
            while shared < most && path[shared] == previous[shared] { shared += 1 }
            guard path.count - shared <= Int(UInt16.max) else { return }
            writer.append(UInt16(shared))
            writer.append(UInt16(path.count - shared))
            writer.append(path[shared...])
            Self.append(entry.blobID, &writer)
            writer.append(UInt64(bitPattern: entry.size))
            let ownHash = entry.stat != nil && entry.diskHash != nil && entry.diskHash != entry.contentHash
            writer.append(
                UInt8((entry.contentHash != nil ? 1 : 0) | (entry.stat != nil ? 2 : 0) | (ownHash ? 4 : 0)))
            if let hash = entry.contentHash { writer.append(hash.rawValue) }
            if let stat = entry.stat {
                writer.append(UInt64(bitPattern: stat.modifiedNs))
                writer.append(UInt64(bitPattern: stat.changedNs))
                writer.append(UInt64(bitPattern: stat.size))
                writer.append(stat.inode)
                writer.append(stat.device)
                if ownHash, let hash = entry.diskHash { writer.append(hash.rawValue) }
            }
            previous = path
        }
        guard let digest = try? SHA256.hash(writer.bytes.span) else { return }
        writer.append(digest)
        do throws(Errno) {
            try scratch.replace(Self.name.bytes, in: own, with: writer.bytes.span, mode: 0o600, durable: false)
        } catch {}  // a cache
    }

    private static func append(_ id: ObjectID?, _ writer: inout ByteWriter) {
        guard let id else { return writer.append(UInt8(0)) }
        let values = id.rawValues
        writer.append(UInt8(id.width == .short ? 1 : 2))
        writer.append(values.high)
        if id.width == .long { writer.append(values.low) }
    }

    /// The position of a path, or where it would stand.
    func position(of path: [UInt8]) -> (index: Int, found: Bool) {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].path.bytes.lexicographicallyPrecedes(path) { low = middle + 1 } else { high = middle }
        }
        return (low, low < entries.count && entries[low].path.bytes == path)
    }

    /// Whether a tracked file lies below the folder.
    func hasEntries(below folder: [UInt8]) -> Bool {
        let prefix = folder + [UInt8(ascii: "/")]
        let (index, _) = position(of: prefix)
        return index < entries.count && entries[index].path.bytes.starts(with: prefix)
    }

    /// The cache for another tree: its files, with the numbers of those that this cache knows with the same blob.
    func rebased(on files: [TrackedFile], tree: ObjectID?) -> StatCache {
        var result: [IndexEntry] = []
        result.reserveCapacity(files.count)
        var old = 0
        for file in files {
            while old < entries.count && entries[old].path < file.path { old += 1 }
            var entry = IndexEntry(
                path: file.path, blobID: file.entry.blobID, size: file.entry.size,
                contentHash: file.entry.contentHash, stat: nil, diskHash: nil)
            if old < entries.count && entries[old].path == file.path {
                entry.stat = entries[old].stat
                entry.diskHash = entries[old].diskHash
            }
            result.append(entry)
        }
        return StatCache(tree: tree, entries: result)
    }
}

extension StatCache {
    /// Applies sorted edits; `stat` gives the numbers of a file whose content on disk is the edit's.
    mutating func apply(_ edits: [TreeEditor.Edit], tree: ObjectID, stat: (VaultPath) -> StatKey?) {
        var result: [IndexEntry] = []
        result.reserveCapacity(entries.count + edits.count)
        var old = 0
        for edit in edits {
            while old < entries.count && entries[old].path < edit.path {
                result.append(entries[old])
                old += 1
            }
            if old < entries.count && entries[old].path == edit.path { old += 1 }
            guard let entry = edit.entry else { continue }
            let numbers = stat(edit.path)
            result.append(
                IndexEntry(
                    path: edit.path, blobID: entry.blobID, size: entry.size, contentHash: entry.contentHash,
                    stat: numbers, diskHash: numbers == nil ? nil : entry.contentHash))
        }
        result.append(contentsOf: entries[old...])
        self.tree = tree
        entries = result
    }
}

/// Appends numbers, least significant byte first, to a growing buffer.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
        var rest = number
        for _ in 0..<(number.bitWidth / 8) {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }
}
