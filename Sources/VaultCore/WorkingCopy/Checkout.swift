internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The numbers by which a file that was looked at is known to be the same one still.
struct FileMark: Sendable, Equatable {
    let stat: StatKey
    /// Other names led to it as well.
    private let isLinked: Bool

    init(_ status: FileStatus) {
        stat = StatKey(status)
        isLinked = status.linkCount > 1
    }

    func fits(_ status: FileStatus) -> Bool {
        var now = StatKey(status)
        // Replacing or removing one name of a file counts as a change of all its names.
        if isLinked { now.changedNs = stat.changedNs }
        return now == stat
    }
}

/// One file to be put into the working copy.
struct CheckoutItem: Sendable {
    /// What the look before the first write found at the path.
    enum Expectation: Sendable {
        /// Nothing, or folders without files.
        case absent
        /// A file with these numbers, whose content may be replaced.
        case file(FileMark)
    }

    var path: VaultPath
    var entry: FileEntry
    var expected = Expectation.absent
}

/// One file to be removed from the working copy.
struct CheckoutRemoval: Sendable {
    var path: VaultPath
    /// The numbers that the look before the first write found.
    var expected: FileMark
}

/// Writes and removes files of the working copy: through temporary names, never through a link, never in place
/// (spec 03 §8, 05 §12).
///
/// The caller has made sure that nothing uncommitted is in the way.
struct Checkout: Sendable {
    let root: any Directory
    let scratch: ScratchArea
    let blobs: BlobReader
    /// Set where the working copy is that of a clone which is thrown away unless all of it succeeds: files are written
    /// in place, and this is told of each, and of each folder.
    var creates: (@Sendable (VaultPath) -> Void)?
    /// Sync every file before it gets its name, where no journal tells the next command of those that a power cut tore.
    var syncsBeforeNaming = false
    let pool: WorkerPool
    let observer: any Observer
    let failPoints: FailPoints

    /// What was written, and what this platform can not hold.
    struct Outcome: Sendable {
        /// The paths written.
        ///
        /// Their numbers are no proof of their content: a file changed again within one tick of the file system's clock
        /// keeps them (spec 03 §3). The next look at them, when they are older, gives it.
        var written: [VaultPath] = []
        var notStored: [SkippedEntry] = []
        var bytes: Int64 = 0
    }

    /// Files of one folder that one worker writes.
    private static let groupSize = 128

    /// Writes all items, which must be sorted by path.
    ///
    /// - Throws: on the first file that can not be written for a reason that another try could mend; the caller
    ///   does not move the head then.
    func write(_ items: [CheckoutItem]) throws -> Outcome {
        let foldsNames = try foldsNames()
        let impossible = try makeFolders(items, foldsNames: foldsNames)
        let groups = grouped(items)
        let outcome = Locked(Outcome())
        let total = items.count
        try pool.forEach(count: groups.count) { index in
            let part = try write(group: items[groups[index]], impossible: impossible, foldsNames: foldsNames)
            let done = outcome.withLock { outcome -> (Int, Int64) in
                outcome.written += part.written
                outcome.notStored += part.notStored
                outcome.bytes += part.bytes
                return (outcome.written.count, outcome.bytes)
            }
            observer.progress(Progress(phase: .checkout, done: done.0, total: total, bytes: done.1))
        }
        var result = outcome.withLock { $0 }
        result.notStored.sort { $0.path.lexicographicallyPrecedes($1.path) }
        return result
    }

    private func grouped(_ items: [CheckoutItem]) -> [Range<Int>] {
        var groups: [Range<Int>] = []
        var start = 0
        while start < items.count {
            let parent = items[start].path.parent
            var end = start + 1
            while end < items.count, end - start < Self.groupSize, items[end].path.parent == parent { end += 1 }
            groups.append(start..<end)
            start = end
        }
        return groups
    }

    private func foldsNames() throws(VaultError) -> Bool {
        try attempt("cannot look at the working copy") { () throws(Errno) in try root.foldsNames() }
    }

    /// Makes the folders of the items.
    ///
    /// - Returns: Those that this file system can not hold.
    private func makeFolders(
        _ items: [CheckoutItem], foldsNames: Bool
    ) throws(VaultError) -> [VaultPath: SkippedEntry.Reason] {
        var made: Set<VaultPath> = []
        var impossible: [VaultPath: SkippedEntry.Reason] = [:]
        for item in items {
            guard let parent = item.path.parent, !made.contains(parent) else { continue }
            var current: any Directory = root
            var path: VaultPath?
            for segment in parent.segments {
                path = path.map { $0.child(segment) } ?? VaultPath(unchecked: segment)
                do throws(Errno) {
                    do throws(Errno) {
                        let above = current
                        current = try current.openDirectory(segment)
                        if foldsNames, let path, try !above.lists(segment) { impossible[path] = .nameTaken }
                    } catch .noSuchFile {
                        try current.createDirectory(segment, mode: 0o777)
                        if let path { creates?(path) }
                        current = try current.openDirectory(segment)
                    }
                } catch .nameTooLong {
                    impossible[path ?? parent] = .nameTooLong
                    break
                } catch .invalidArgument {
                    impossible[path ?? parent] = .nameRefused
                    break
                } catch .illegalName {
                    impossible[path ?? parent] = .nameRefused
                    break
                } catch {
                    throw Self.inTheWay(error, path ?? parent)
                }
                if let path { made.insert(path) }
            }
        }
        return impossible
    }

    private func write(
        group items: ArraySlice<CheckoutItem>, impossible: [VaultPath: SkippedEntry.Reason], foldsNames: Bool
    ) throws -> Outcome {
        var outcome = Outcome()
        guard let first = items.first else { return outcome }
        if let folder = impossible.first(where: { first.path.isAtOrBelow($0.key) }) {
            outcome.notStored = items.map { SkippedEntry(path: $0.path.bytes, reason: folder.value) }
            return outcome
        }
        let folder: any Directory
        do throws(Errno) {
            folder = try root.openDirectory(beneath: first.path.parent?.bytes ?? [])
        } catch {
            throw Self.inTheWay(error, first.path)
        }
        for item in items {
            let name = item.path.lastSegment
            try pool.checkCancellation()
            do throws(Errno) {
                try failPoints.hit(.checkoutBeforeFile)
            } catch { throw VaultError.io(error, "interrupted") }
            do {
                if foldsNames, try isTaken(name, in: folder) {
                    outcome.notStored.append(SkippedEntry(path: item.path.bytes, reason: .nameTaken))
                    continue
                }
                outcome.bytes += try write(item, named: name, in: folder)
                outcome.written.append(item.path)
            } catch let error as VaultError where error.code == .dirtyTree && foldsNames {
                // Another worker may have been first with the other name.
                guard try isTaken(name, in: folder) else { throw error }
                outcome.notStored.append(SkippedEntry(path: item.path.bytes, reason: .nameTaken))
            } catch let error as VaultError {
                guard let reason = refusal(error, of: name, in: folder) else { throw error }
                outcome.notStored.append(SkippedEntry(path: item.path.bytes, reason: reason))
            }
        }
        return outcome
    }

    /// Why the file system does not take a name, when that is what a failed write came from.
    private func refusal(
        _ error: VaultError, of name: [UInt8], in folder: any Directory
    ) -> SkippedEntry.Reason? {
        switch error.cause {
        case "\(Errno.nameTooLong)": return .nameTooLong
        case "\(Errno.invalidArgument)", "\(Errno.illegalName)": return .nameRefused
        case "\(Errno.notPermitted)":
            // Of a refused name some ways of making a file say only that it is not permitted.
            do throws(Errno) {
                _ = try folder.createFile(name, mode: 0o600)
                try folder.removeFile(name)
                return nil
            } catch {
                return error == .invalidArgument || error == .illegalName ? .nameRefused : nil
            }
        default: return nil
        }
    }

    /// Whether something stands at a name whose own name is another one.
    private func isTaken(_ name: [UInt8], in folder: any Directory) throws(VaultError) -> Bool {
        try attempt("cannot look at the working copy") { () throws(Errno) in
            guard try folder.statusIfPresent(of: name) != nil else { return false }
            return try !folder.lists(name)
        }
    }

    private func writeNew(
        _ item: CheckoutItem, named name: [UInt8], in folder: any Directory, _ creates: (VaultPath) -> Void
    ) throws -> Int64 {
        let file: any File
        do throws(Errno) {
            file = try folder.createFile(name, mode: 0o666)
        } catch .fileExists {
            throw Self.changed(item.path)
        } catch {
            throw VaultError.io(error, "cannot write \(item.path)", path: item.path.description)
        }
        creates(item.path)
        return try fill(file, with: item)
    }

    private func write(
        _ item: CheckoutItem, named name: [UInt8], in folder: any Directory
    ) throws -> Int64 {
        if let creates { return try writeNew(item, named: name, in: folder, creates) }
        var existing: FileStatus?
        do throws(Errno) {
            existing = try folder.status(of: name)
        } catch .noSuchFile {
            existing = nil
        } catch {
            throw VaultError.io(error, "cannot write \(item.path)", path: item.path.description)
        }
        if existing?.kind == .directory {
            // Folders without files are nobody's work: the format has none.
            guard (try? Self.removeEmptyFolder(name, in: folder, depth: 0)) == true else {
                throw Self.inTheWay(.isADirectory, item.path)
            }
            existing = nil
        }
        try Self.require(item, existing)
        var pending = try PendingFile(in: scratch, replacing: existing)
        let size = try fill(pending.file, with: item)
        do throws(Errno) {
            if syncsBeforeNaming { try pending.file.sync() }
            // The content took time to write: the file must still be the one that was looked at.
            if existing != nil, case .file(let expected) = item.expected {
                guard try expected.fits(folder.status(of: name)) else { throw .fileExists }
            }
            try pending.publish(as: name, in: folder, replacing: existing != nil)
            return size
        } catch .fileExists {
            throw Self.changed(item.path)
        } catch {
            throw VaultError.io(error, "cannot write \(item.path)", path: item.path.description)
        }
    }

    /// Writes the content and gives its size.
    private func fill(_ file: any File, with item: CheckoutItem) throws -> Int64 {
        if let bytes = try blobs.small(item.entry) {
            try attempt("cannot write \(item.path)", path: item.path.description) { () throws(Errno) in
                try file.write(bytes.span)
            }
            return Int64(bytes.count)
        }
        var size: Int64 = 0
        try blobs.stream(item.entry, check: .during) { chunk in
            try pool.checkCancellation()
            size += Int64(chunk.count)
            try attempt("cannot write \(item.path)", path: item.path.description) { () throws(Errno) in
                try file.write(chunk)
            }
        }
        return size
    }

    /// The file in the way must be the one that may be replaced.
    private static func require(_ item: CheckoutItem, _ existing: FileStatus?) throws(VaultError) {
        let holds =
            switch (item.expected, existing) {
            case (.absent, nil): true
            case (.file(let expected), let existing?): existing.kind == .regular && expected.fits(existing)
            default: false
            }
        if !holds { throw changed(item.path) }
    }

    static func changed(_ path: VaultPath) -> VaultError {
        VaultError(
            .dirtyTree, "\(path) was changed while this command ran, and is left as it is",
            hint: "commit it, or move it away, and run the command again", path: path.description)
    }

    /// Removes a folder in which there is nothing but folders; false, having removed none with a file, otherwise.
    private static func removeEmptyFolder(
        _ name: [UInt8], in parent: any Directory, depth: Int
    ) throws(Errno) -> Bool {
        guard depth <= Limits.treeDepth else { return false }
        let folder = try parent.openDirectory(name)
        for entry in try folder.entries() {
            guard entry.kind == .directory, try removeEmptyFolder(entry.name, in: folder, depth: depth + 1) else {
                return false
            }
        }
        try parent.removeDirectory(name)
        return true
    }

    private static func inTheWay(_ errno: Errno, _ path: VaultPath) -> VaultError {
        switch errno {
        case .notADirectory, .tooManyLinks:
            VaultError(
                .dirtyTree, "a file or link stands where the folder of \(path) belongs",
                hint: "move it away and run the command again", path: path.description, cause: errno)
        case .isADirectory:
            VaultError(
                .dirtyTree, "a folder stands where the file \(path) belongs",
                hint: "move it away and run the command again", path: path.description, cause: errno)
        default: .io(errno, "cannot write \(path)", path: path.description)
        }
    }
}
