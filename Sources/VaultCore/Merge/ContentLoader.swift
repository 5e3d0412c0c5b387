internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Content that was read and hashed on the way.
struct LoadedContent {
    var size: Int64 = 0
    var digest: [UInt8] = []
    /// Nil when there is more of it than was to be kept.
    var bytes: [UInt8]? = []
    var hasNUL = false

    var side: FileDiff.Side { FileDiff.Side(size: size, sha256: Hex.text(digest.span)) }

    /// Text is valid UTF-8 without NUL; of content that was not kept only the NUL is looked for.
    var isBinary: Bool {
        if hasNUL { return true }
        guard let bytes else { return false }
        return !UTF8Text.isValid(bytes.span)
    }
}

/// One side of a difference before its content is read.
enum DiffSide: Sendable {
    case blob(FileEntry)
    /// The file of the working copy at the path of the difference.
    case file(FileStatus)

    var size: Int64 {
        switch self {
        case .blob(let entry): entry.size
        case .file(let status): status.size
        }
    }

    var entry: FileEntry? {
        if case .blob(let entry) = self { entry } else { nil }
    }
}

/// Reads the contents that are compared, keeping no more of each than is asked for.
struct ContentLoader {
    let blobs: BlobReader
    /// The working copy; nil where none is looked at.
    let root: (any Directory)?
    let pool: WorkerPool
    /// Bytes that are kept.
    let limit: Int

    private static let attempts = 3
    private static let chunk = 1 << 20

    /// The content; nil for a file that is not there any more.
    func load(_ side: DiffSide, at path: VaultPath) throws -> LoadedContent? {
        switch side {
        case .blob(let entry): try load(entry, path)
        case .file: try loadFile(path)
        }
    }

    /// Reads a stored file.
    /// - Throws: `objectCorrupt` when it is not the content that its folder records.
    private func load(_ entry: FileEntry, _ path: VaultPath) throws -> LoadedContent {
        var found = Collector(limit: limit, hash: try IncrementalHash())
        try blobs.stream(entry) { chunk in
            try pool.checkCancellation()
            try found.add(chunk)
        }
        let content = try found.finish()
        if let expected = entry.contentHash {
            guard content.size == entry.size, ContentHash(digest: content.digest) == expected else {
                throw VaultError(
                    .objectCorrupt, "the content of \(path) is not the one that its folder records",
                    path: path.description, object: entry.blobID.text)
            }
        }
        return content
    }

    private func loadFile(_ path: VaultPath) throws -> LoadedContent? {
        guard let root else { return nil }
        do {
            let folder = try root.openDirectory(beneath: path.parent?.bytes ?? [])
            for _ in 0..<Self.attempts {
                let file = try folder.openFile(path.lastSegment)
                let before = try file.status()
                guard before.kind == .regular else { return nil }
                var found = Collector(limit: limit, hash: try IncrementalHash())
                while true {
                    try pool.checkCancellation()
                    let chunk = try file.read(upTo: Self.chunk)
                    if chunk.isEmpty { break }
                    try found.add(chunk.span)
                }
                let content = try found.finish()
                if StatKey(before) == StatKey(try folder.status(of: path.lastSegment)), content.size == before.size {
                    return content
                }
            }
            throw Errno.wouldBlock
        } catch let error as Errno {
            switch error {
            case .noSuchFile, .notADirectory, .tooManyLinks: return nil
            case .wouldBlock:
                throw VaultError(.ioError, "\(path) changes while it is read", path: path.description, cause: error)
            default: throw VaultError.io(error, "cannot read \(path)", path: path.description)
            }
        }
    }

    private struct Collector {
        let limit: Int
        let hash: IncrementalHash
        var content = LoadedContent()

        init(limit: Int, hash: IncrementalHash) {
            self.limit = limit
            self.hash = hash
        }

        mutating func add(_ chunk: Span<UInt8>) throws {
            try hash.update(chunk)
            content.size += Int64(chunk.count)
            let isKept = content.size <= Int64(limit)
            if isKept {
                content.bytes?.reserveCapacity(Int(content.size))
            } else {
                content.bytes = nil
            }
            for index in chunk.indices {
                if chunk[index] == 0 { content.hasNUL = true }
                if isKept { content.bytes?.append(chunk[index]) }
            }
        }

        mutating func finish() throws -> LoadedContent {
            content.digest = try hash.finish()
            return content
        }
    }
}
