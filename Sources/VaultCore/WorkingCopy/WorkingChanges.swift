internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The working copy against the head, after the files that needed it were read.
struct WorkingChanges: Sendable {
    /// Untracked files.
    var added: [ScanResult.Candidate] = []
    /// Tracked files with other content.
    var modified: [ScanResult.Candidate] = []
    /// Tracked entries with no file on disk.
    var deleted: [IndexEntry] = []
    var skipped: [SkippedEntry] = []
    var unreadable: [SkippedEntry] = []
    var ignored: [[UInt8]] = []
    /// The cache with what this look has proven.
    var cache: StatCache
    /// Whether `cache` says more than the one loaded.
    var cacheMoved = false
    /// Files modified after this moment, two seconds before the scan, are not recorded.
    var racyAfterNs: Int64 = .min

    /// Every path with uncommitted work.
    var paths: [VaultPath] { added.map(\.path) + modified.map(\.path) + deleted.map(\.path) }

    /// Whether something tracked is at a path, or below it.
    func isTracked(_ path: [UInt8]) -> Bool { cache.position(of: path).found || cache.hasEntries(below: path) }

    /// Leaves out the copies that a merge put beside conflicting files: nobody added them.
    mutating func leaveOutCopies(of merge: MergeState?) {
        for path in merge?.conflicts ?? [] {
            let copy = path.copied(for: path)
            added.removeAll { $0.path.isAtOrBelow(copy) }
        }
    }

    /// Takes files that are gone since the scan for what they are now: absent.
    mutating func vanished(_ gone: [ScanResult.Candidate]) {
        guard !gone.isEmpty else { return }
        let paths = Set(gone.map(\.path))
        added.removeAll { paths.contains($0.path) }
        modified.removeAll { paths.contains($0.path) }
        deleted = (deleted + gone.compactMap { $0.tracked.map { cache.entries[$0] } }).sorted { $0.path < $1.path }
    }

    var changes: Changes {
        Changes(added: added.map(\.path), modified: modified.map(\.path), deleted: deleted.map(\.path))
    }
}

/// Reads the candidates of a scan that only their content can decide, in parallel (spec 05 §5.2).
struct ChangeDetector: Sendable {
    let root: any Directory
    let racyAfterNs: Int64
    let pool: WorkerPool

    private enum Verdict: Sendable {
        case unchanged(StatKey), modified, vanished, unreadable, notRegular
    }

    /// Decides every candidate.
    func detect(_ scan: ScanResult, in tracked: StatCache) throws -> WorkingChanges {
        var result = WorkingChanges(cache: tracked)
        result.racyAfterNs = racyAfterNs
        result.skipped = scan.skipped
        result.unreadable = scan.unreadable
        result.ignored = scan.ignored
        var toRead: [(candidate: ScanResult.Candidate, entry: IndexEntry, position: Int)] = []
        for candidate in scan.candidates {
            let isDecided = candidate.tracked.map { tracked.entries[$0].size != candidate.status.size } ?? true
            if isDecided, isUnreadable(candidate) {
                result.unreadable.append(SkippedEntry(path: candidate.path.bytes, reason: .unreadable))
                continue
            }
            guard let position = candidate.tracked else {
                result.added.append(candidate)
                continue
            }
            let entry = tracked.entries[position]
            if entry.contentHash == nil {
                if entry.size != candidate.status.size { result.modified.append(candidate) }
            } else if entry.size != candidate.status.size {
                result.modified.append(candidate)
            } else {
                toRead.append((candidate, entry, position))
            }
        }
        let verdicts = try read(toRead)
        var vanished: [IndexEntry] = []
        for (item, verdict) in zip(toRead, verdicts) {
            switch verdict {
            case .unchanged(let stat):
                guard stat.modifiedNs < racyAfterNs, tracked.entries[item.position].stat != stat else { continue }
                result.cache.entries[item.position].stat = stat
                result.cache.entries[item.position].diskHash = item.entry.contentHash
                result.cacheMoved = true
            case .modified: result.modified.append(item.candidate)
            case .vanished: vanished.append(item.entry)
            case .unreadable:
                result.unreadable.append(SkippedEntry(path: item.candidate.path.bytes, reason: .unreadable))
            case .notRegular: break  // replaced by a link or a FIFO since the scan: keeps its entry
            }
        }
        result.modified.sort { $0.path < $1.path }
        result.unreadable.sort { $0.path.lexicographicallyPrecedes($1.path) }
        result.deleted = scan.deleted.map { tracked.entries[$0] } + vanished
        if !vanished.isEmpty { result.deleted.sort { $0.path < $1.path } }
        return result
    }

    /// Whether a file refuses to be opened, which a commit would run into.
    ///
    /// Asked where name and size decide, so that nothing else opens the file, and it is not readable for everybody.
    private func isUnreadable(_ candidate: ScanResult.Candidate) -> Bool {
        guard candidate.status.mode & 0o444 != 0o444 else { return false }
        do throws(Errno) {
            let folder = try root.openDirectory(beneath: candidate.path.parent?.bytes ?? [])
            _ = try folder.openFile(candidate.path.lastSegment)
            return false
        } catch {
            return error == .permissionDenied || error == .notPermitted
        }
    }

    private func read(
        _ items: [(candidate: ScanResult.Candidate, entry: IndexEntry, position: Int)]
    ) throws -> [Verdict] {
        guard !items.isEmpty else { return [] }
        let verdicts = Locked([Verdict](repeating: .modified, count: items.count))
        let batch = 64
        let batches = (items.count + batch - 1) / batch
        try pool.forEach(count: batches) { index in
            let range = index * batch..<min(items.count, (index + 1) * batch)
            let decided = try range.map { try decide(items[$0].candidate.path, items[$0].entry) }
            verdicts.withLock { $0.replaceSubrange(range, with: decided) }
        }
        return verdicts.withLock { $0 }
    }

    private func decide(_ path: VaultPath, _ entry: IndexEntry) throws -> Verdict {
        try pool.checkCancellation()
        do {
            let hasher = FileHasher(pool: pool)
            guard let (hash, status) = try hasher.contentHash(of: path, in: root) else { return .notRegular }
            return hash == entry.contentHash ? .unchanged(StatKey(status)) : .modified
        } catch let error as Errno {
            switch error {
            case .noSuchFile: return .vanished
            // A folder on the way was replaced by a file or a link since the scan: the next look tells which.
            case .notADirectory, .tooManyLinks: return .notRegular
            default: return .unreadable
            }
        }
    }
}

/// Hashes files, large ones piece by piece.
struct FileHasher {
    let pool: WorkerPool
    private static let attempts = 3
    private static let chunk = 1 << 20

    /// The content hash of a regular file and its status, equal before and after the reading; nil when something else
    /// stands there.
    ///
    /// A file that never holds still is `Errno.wouldBlock`.
    func contentHash(
        of path: VaultPath, in root: any Directory
    ) throws -> (hash: ContentHash, status: FileStatus)? {
        let folder = try root.openDirectory(beneath: path.parent?.bytes ?? [])
        for _ in 0..<Self.attempts {
            let file = try folder.openFile(path.lastSegment)
            let before = try file.status()
            guard before.kind == .regular else { return nil }
            let (digest, size) = try digest(of: file, sizeHint: before.size)
            let after = try folder.status(of: path.lastSegment)
            if StatKey(before) == StatKey(after), size == before.size {
                return (ContentHash(digest: digest), after)
            }
        }
        throw Errno.wouldBlock
    }

    /// SHA-256 and size of a file, read from its start.
    /// - Throws: `Errno` as the file gave it; `VaultError` when hashing itself fails.
    func digest(of file: any File, sizeHint: Int64) throws -> (digest: [UInt8], size: Int64) {
        if sizeHint < Int64(Self.chunk) {
            let bytes = try file.read(fillingUpTo: Self.chunk, sizeHint: Int(sizeHint))
            if bytes.count < Self.chunk { return (try SHA256.hash(bytes.span), Int64(bytes.count)) }
            try file.seek(to: 0)
        }
        let hash = try IncrementalHash()
        var size: Int64 = 0
        while true {
            try pool.checkCancellation()
            let bytes = try file.read(upTo: Self.chunk)
            if bytes.isEmpty { return (try hash.finish(), size) }
            size += Int64(bytes.count)
            try hash.update(bytes.span)
        }
    }
}
