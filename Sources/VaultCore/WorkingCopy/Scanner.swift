internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// What a walk over the working copy found, compared with the tracked files (spec 03 §5, §6; 05 §5.2).
struct ScanResult: Sendable {
    /// A file on disk that is not, or not certainly, the tracked one.
    struct Candidate: Sendable {
        var path: VaultPath
        var status: FileStatus
        /// The tracked entry's position; nil for an untracked file.
        var tracked: Int?
    }
    /// Files that the five numbers do not prove unchanged, untracked ones included; sorted by path.
    var candidates: [Candidate] = []
    /// Positions of tracked entries with no file on disk; sorted.
    var deleted: [Int] = []
    /// Entries left out, sorted by path.
    var skipped: [SkippedEntry] = []
    /// Files and folders that could not be read, sorted by path.
    var unreadable: [SkippedEntry] = []
    /// Untracked paths under an ignore rule, folders with a final `/`; only when asked for.
    var ignored: [[UInt8]] = []
}

/// Walks the working copy without following links.
struct Scanner: Sendable {
    let root: any Directory
    let tracked: StatCache
    let rules: IgnoreRules
    /// Files modified after this moment are never believed unchanged by their numbers: two seconds before the scan.
    let racyAfterNs: Int64
    let pool: WorkerPool
    var collectsIgnored = false

    private static let levelLimit = 4096

    /// Prepares a scan; reads `.gitignore` of the vault root.
    init(
        root: any Directory, tracked: StatCache, environment: VaultEnvironment, collectsIgnored: Bool = false
    ) throws(VaultError) {
        self.root = root
        self.tracked = tracked
        self.collectsIgnored = collectsIgnored
        pool = environment.pool
        racyAfterNs = environment.clock.nowNs &- 2_000_000_000
        let gitignore: [UInt8]?
        do throws(Errno) {
            gitignore = try root.contents(".gitignore", limit: Limits.ignoreFile)
        } catch {
            switch error {
            case .invalidArgument, .tooManyLinks, .isADirectory: gitignore = nil
            case .fileTooLarge:
                throw VaultError(
                    .refused, ".gitignore is larger than \(Limits.ignoreFile) bytes, so what it ignores is not known",
                    hint: "make .gitignore smaller", path: ".gitignore", cause: error)
            default: throw .io(error, "cannot read .gitignore", path: ".gitignore")
            }
        }
        do throws(FormatError) {
            rules = try IgnoreRules(gitignore: gitignore)
        } catch {
            throw VaultError(
                .refused, ".gitignore is not valid UTF-8, so what it ignores can not be known",
                hint: "write .gitignore as UTF-8", path: ".gitignore", cause: error)
        }
    }

    /// Scans the whole working copy, one level of folders after the other, the folders of a level in parallel.
    func scan() throws -> ScanResult {
        var result = ScanResult()
        var present = [Bool](repeating: false, count: tracked.entries.count)
        var level = [PendingFolder(path: [], isIgnored: false)]
        var depth = 0
        while !level.isEmpty {
            guard depth <= Self.levelLimit else {
                throw VaultError(.refused, "the folders of the working copy nest deeper than \(Self.levelLimit) levels")
            }
            let folders = level
            let parts = Locked([FolderResult?](repeating: nil, count: folders.count))
            try pool.forEach(count: folders.count) { index in
                let part = try scan(folder: folders[index])
                parts.withLock { $0[index] = part }
            }
            level = []
            for part in parts.withLock({ $0 }) {
                guard let part else { continue }
                result.candidates += part.candidates
                result.skipped += part.skipped
                result.unreadable += part.unreadable
                result.ignored += part.ignored
                level += part.folders
                for position in part.present { present[position] = true }
                for range in part.kept { for position in range { present[position] = true } }
            }
            depth += 1
        }
        result.deleted = present.indices.filter { !present[$0] }
        result.candidates.sort { $0.path < $1.path }
        result.skipped.sort { $0.path.lexicographicallyPrecedes($1.path) }
        result.unreadable.sort { $0.path.lexicographicallyPrecedes($1.path) }
        result.ignored.sort { $0.lexicographicallyPrecedes($1) }
        return result
    }

    private struct FolderResult: Sendable {
        var candidates: [ScanResult.Candidate] = []
        var present: [Int] = []
        /// Tracked entries that keep their state because what stands at or above their path is not a plain file.
        var kept: [Range<Int>] = []
        var skipped: [SkippedEntry] = []
        var unreadable: [SkippedEntry] = []
        var ignored: [[UInt8]] = []
        var folders: [PendingFolder] = []
    }

    /// A folder to be scanned.
    private struct PendingFolder: Sendable {
        var path: [UInt8]
        /// A rule covers it; it is entered for the tracked files below it only, and what is untracked there stays
        /// ignored.
        var isIgnored: Bool
    }

    private func scan(folder pending: PendingFolder) throws -> FolderResult {
        let folder = pending.path
        var result = FolderResult()
        let directory: any Directory
        let entries: [DirectoryEntry]
        do throws(Errno) {
            directory = try root.openDirectory(beneath: folder)
            entries = try directory.entries()
        } catch {
            switch error {
            case .noSuchFile where !folder.isEmpty:
                return result  // gone since its parent was read: its files are deleted
            case .notADirectory where !folder.isEmpty, .tooManyLinks where !folder.isEmpty:
                // Replaced by a link or a file since its parent was read: the next look tells which.
                result.skipped.append(SkippedEntry(path: folder, reason: .symbolicLink))
                result.kept.append(range(below: folder))
                return result
            case .noSuchFile, .notADirectory, .tooManyLinks, .tooManyOpenFiles:
                throw VaultError.io(error, "cannot read the working copy")
            default:
                result.unreadable.append(SkippedEntry(path: folder, reason: .unreadable))
                result.kept.append(range(below: folder))
                return result
            }
        }
        for entry in entries {
            try classify(entry, in: directory, of: pending, &result)
        }
        return result
    }

    private func classify(
        _ entry: DirectoryEntry, in directory: any Directory, of parent: PendingFolder, _ result: inout FolderResult
    ) throws {
        let folder = parent.path
        let name = entry.name
        let isProtected = VaultPath.isProtectedSegment(name)
        if isProtected, !Self.isOtherSpelling(name) { return }
        let path = folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
        if isProtected {
            if !parent.isIgnored { result.skipped.append(SkippedEntry(path: path, reason: .unsafeName)) }
            return
        }
        guard isUTF8(name) else {
            result.skipped.append(SkippedEntry(path: path, reason: .nameNotUTF8))
            return
        }
        if entry.kind == .directory {
            visitFolder(path, in: parent, &result)
            return
        }
        let status: FileStatus
        do throws(Errno) {
            status = try directory.status(of: name)
        } catch .noSuchFile {
            return  // vanished during the scan: deleted
        } catch {
            result.unreadable.append(SkippedEntry(path: path, reason: .unreadable))
            result.kept.append(range(of: path))
            return
        }
        switch status.kind {
        case .directory: visitFolder(path, in: parent, &result)
        case .regular: visitFile(path, status, in: parent, &result)
        case .symbolicLink: keep(path, .symbolicLink, in: parent, &result)
        case .other, .unknown: keep(path, .specialFile, in: parent, &result)
        }
    }

    /// Whether a protected name is one that no program here gives: somebody's own folder, which is told to be left out.
    private static func isOtherSpelling(_ name: [UInt8]) -> Bool {
        let lower = name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return lower != name && [".git", CloneLayout.vaultText, CloneLayout.newText].contains { $0.bytes == lower }
    }

    private func visitFolder(_ path: [UInt8], in parent: PendingFolder, _ result: inout FolderResult) {
        let isIgnored = parent.isIgnored || rules.ignoresFolder(path)
        if isIgnored && !tracked.hasEntries(below: path) {
            if collectsIgnored { result.ignored.append(path + [UInt8(ascii: "/")]) }
            return
        }
        result.folders.append(PendingFolder(path: path, isIgnored: isIgnored))
    }

    private func visitFile(
        _ path: [UInt8], _ status: FileStatus, in parent: PendingFolder, _ result: inout FolderResult
    ) {
        let (position, isTracked) = tracked.position(of: path)
        guard isTracked else {
            // A leftover of a command that was killed, and nobody's work.
            if PendingFile.isForeign(path.split(separator: UInt8(ascii: "/")).last ?? []) { return }
            if parent.isIgnored || rules.ignoresFile(path) {
                if collectsIgnored { result.ignored.append(path) }
                return
            }
            guard path.count <= Limits.pathLength, let checked = try? VaultPath(path), checked.bytes == path else {
                result.skipped.append(SkippedEntry(path: path, reason: .unsafeName))
                return
            }
            let segments = path.split(separator: UInt8(ascii: "/"))
            if segments.contains(where: { $0.count > Limits.metadataText }) {
                result.skipped.append(SkippedEntry(path: path, reason: .nameTooLong))
                return
            }
            if segments.count > Limits.editDepth {
                result.skipped.append(SkippedEntry(path: path, reason: .tooDeep))
                return
            }
            result.candidates.append(ScanResult.Candidate(path: checked, status: status, tracked: nil))
            return
        }
        result.present.append(position)
        let entry = tracked.entries[position]
        if let stat = entry.stat, stat == StatKey(status), status.modifiedNs < racyAfterNs,
            let hash = entry.diskHash, hash == entry.contentHash
        {
            return
        }
        result.candidates.append(ScanResult.Candidate(path: entry.path, status: status, tracked: position))
    }

    private func keep(
        _ path: [UInt8], _ reason: SkippedEntry.Reason, in parent: PendingFolder, _ result: inout FolderResult
    ) {
        let kept = range(of: path)
        if kept.isEmpty, parent.isIgnored || rules.ignoresFile(path) { return }
        result.skipped.append(SkippedEntry(path: path, reason: reason))
        result.kept.append(kept)
        result.kept.append(range(below: path))
    }

    private func range(of path: [UInt8]) -> Range<Int> {
        let (position, found) = tracked.position(of: path)
        return found ? position..<(position + 1) : position..<position
    }

    private func range(below folder: [UInt8]) -> Range<Int> {
        if folder.isEmpty { return 0..<tracked.entries.count }
        let start = tracked.position(of: folder + [UInt8(ascii: "/")]).index
        // '0' follows '/' in ASCII, so this is the first path that is not below the folder.
        let end = tracked.position(of: folder + [UInt8(ascii: "0")]).index
        return start..<end
    }

    private func isUTF8(_ name: [UInt8]) -> Bool {
        if name.allSatisfy({ $0 < 0x80 }) { return true }
        return String(validating: name, as: UTF8.self) != nil
    }
}

extension Directory {
    /// Opens a folder below this one, one segment at a time and without following links; empty means this one.
    func openDirectory(beneath path: [UInt8]) throws(Errno) -> any Directory {
        var current: any Directory = self
        for segment in path.split(separator: UInt8(ascii: "/")) {
            current = try current.openDirectory(Array(segment))
        }
        return current
    }
}
