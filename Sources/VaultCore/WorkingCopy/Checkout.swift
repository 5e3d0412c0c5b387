internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One file to be put into the working copy.
struct CheckoutItem: Sendable {
    /// What the look before the first write found at the path.
    enum Expectation: Sendable {
        /// Nothing, or folders without files.
        case absent
        /// A file with these numbers, whose content may be replaced.
        case file(StatKey)
    }

    var path: VaultPath
    var entry: FileEntry
    var expected = Expectation.absent
}

/// One file to be removed from the working copy.
struct CheckoutRemoval: Sendable {
    var path: VaultPath
    /// The numbers that the look before the first write found.
    var expected: StatKey
}

/// Writes and removes files of the working copy: through temporary names, never through a link, never in place
/// (spec 03 §8, 05 §12).
///
/// The caller has made sure that nothing uncommitted is in the way.
struct Checkout: Sendable {
    let root: any Directory
    let scratch: ScratchArea
    let blobs: BlobReader
    /// The working copy is that of a clone which is thrown away unless all of it succeeds: files are written in place.
    var isNew = false
    let pool: WorkerPool
    let observer: any Observer
    let failPoints: FailPoints

    /// What was written, and what this platform can not hold.
    struct Outcome: Sendable {
        /// Path and the numbers of the file as it stands there now, sorted by path.
        ///
        /// No numbers where the content was not proven to be what the vault says of it.
        var written: [(path: VaultPath, stat: StatKey?)] = []
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
        let taken = try makeFolders(items, foldsNames: foldsNames)
        let groups = grouped(items)
        let outcome = Locked(Outcome())
        let total = items.count
        try pool.forEach(count: groups.count) { index in
            let part = try write(group: items[groups[index]], taken: taken, foldsNames: foldsNames)
            let done = outcome.withLock { outcome -> (Int, Int64) in
                outcome.written += part.written
                outcome.notStored += part.notStored
                outcome.bytes += part.bytes
                return (outcome.written.count, outcome.bytes)
            }
            observer.progress(Progress(phase: .checkout, done: done.0, total: total, bytes: done.1))
        }
        var result = outcome.withLock { $0 }
        result.written.sort { $0.path < $1.path }
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
    /// - Returns: Those in whose place a folder stands that the file system takes for the same name.
    private func makeFolders(_ items: [CheckoutItem], foldsNames: Bool) throws(VaultError) -> Set<VaultPath> {
        var made: Set<VaultPath> = []
        var taken: Set<VaultPath> = []
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
                        if foldsNames, let path, try !above.lists(segment) { taken.insert(path) }
                    } catch .noSuchFile {
                        try current.createDirectory(segment, mode: 0o777)
                        current = try current.openDirectory(segment)
                    }
                } catch .nameTooLong {
                    break  // reported with the files below it
                } catch {
                    throw Self.inTheWay(error, path ?? parent)
                }
                if let path { made.insert(path) }
            }
        }
        return taken
    }

    private func write(
        group items: ArraySlice<CheckoutItem>, taken: Set<VaultPath>, foldsNames: Bool
    ) throws -> Outcome {
        var outcome = Outcome()
        guard let first = items.first else { return outcome }
        if !taken.isEmpty, taken.contains(where: { first.path.isAtOrBelow($0) }) {
            outcome.notStored = items.map { SkippedEntry(path: $0.path.bytes, reason: .nameTaken) }
            return outcome
        }
        let folder: any Directory
        do throws(Errno) {
            folder = try root.openDirectory(beneath: first.path.parent?.bytes ?? [])
        } catch .nameTooLong {
            outcome.notStored = items.map { SkippedEntry(path: $0.path.bytes, reason: .nameTooLong) }
            return outcome
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
                let (stat, bytes) = try write(item, named: name, in: folder)
                outcome.written.append((item.path, stat))
                outcome.bytes += bytes
            } catch let error as VaultError where error.code == .dirtyTree && foldsNames {
                // Another worker may have been first with the other name.
                guard try isTaken(name, in: folder) else { throw error }
                outcome.notStored.append(SkippedEntry(path: item.path.bytes, reason: .nameTaken))
            } catch let error as VaultError where error.cause == "\(Errno.nameTooLong)" {
                outcome.notStored.append(SkippedEntry(path: item.path.bytes, reason: .nameTooLong))
            }
        }
        return outcome
    }

    /// Whether something stands at a name whose own name is another one.
    private func isTaken(_ name: [UInt8], in folder: any Directory) throws(VaultError) -> Bool {
        try attempt("cannot look at the working copy") { () throws(Errno) in
            guard try folder.statusIfPresent(of: name) != nil else { return false }
            return try !folder.lists(name)
        }
    }

    private func writeNew(
        _ item: CheckoutItem, named name: [UInt8], in folder: any Directory
    ) throws -> (stat: StatKey?, bytes: Int64) {
        let file: any File
        do throws(Errno) {
            file = try folder.createFile(name, mode: 0o666)
        } catch .fileExists {
            throw Self.changed(item.path)
        } catch {
            throw VaultError.io(error, "cannot write \(item.path)", path: item.path.description)
        }
        let isProven = try fill(file, with: item)
        let status = try attempt("cannot write \(item.path)", path: item.path.description) { () throws(Errno) in
            try file.status()
        }
        return (isProven ? StatKey(status) : nil, status.size)
    }

    private func write(
        _ item: CheckoutItem, named name: [UInt8], in folder: any Directory
    ) throws -> (stat: StatKey?, bytes: Int64) {
        if isNew { return try writeNew(item, named: name, in: folder) }
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
        let pending = try PendingFile(in: scratch, replacing: existing)
        let isProven = try fill(pending.file, with: item)
        do throws(Errno) {
            // The content took time to write: the file must still be the one that was looked at.
            if existing != nil, case .file(let expected) = item.expected {
                guard try StatKey(folder.status(of: name)) == expected else { throw .fileExists }
            }
            let before = try pending.file.status()
            try pending.publish(as: name, in: folder, replacing: existing != nil)
            // Our own file's numbers: another program may have put its file there since.
            let after = try pending.file.status()
            let isUntouched = before.size == after.size && before.modifiedNs == after.modifiedNs
            return (isProven && isUntouched ? StatKey(after) : nil, after.size)
        } catch .fileExists {
            throw Self.changed(item.path)
        } catch {
            throw VaultError.io(error, "cannot write \(item.path)", path: item.path.description)
        }
    }

    /// Writes the content; true when it is proven to be what the entry says.
    private func fill(_ file: any File, with item: CheckoutItem) throws -> Bool {
        let entry = item.entry
        if let bytes = try blobs.small(entry) {
            try attempt("cannot write \(item.path)", path: item.path.description) { () throws(Errno) in
                try file.write(bytes.span)
            }
            guard let hash = entry.contentHash, entry.size == Int64(bytes.count) else { return false }
            let digest = try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) }
            return ContentHash(digest: digest) == hash
        }
        try blobs.stream(entry, trusting: true) { chunk in
            try pool.checkCancellation()
            try attempt("cannot write \(item.path)", path: item.path.description) { () throws(Errno) in
                try file.write(chunk)
            }
        }
        // The hash of a large file would cost as much again; the next look at it pays for it.
        return false
    }

    /// The file in the way must be the one that may be replaced.
    private static func require(_ item: CheckoutItem, _ existing: FileStatus?) throws(VaultError) {
        let holds =
            switch (item.expected, existing) {
            case (.absent, nil): true
            case (.file(let expected), let existing?): existing.kind == .regular && StatKey(existing) == expected
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

/// A file being written before it gets its name.
///
/// Without a name where the file system allows it, so that a kill leaves no plaintext behind.
private struct PendingFile {
    let file: any File
    private let name: [UInt8]?
    private let scratch: ScratchArea

    init(in scratch: ScratchArea, replacing existing: FileStatus?) throws(VaultError) {
        self.scratch = scratch
        do throws(Errno) {
            do throws(Errno) {
                file = try scratch.directory.createUnnamedFile(mode: 0o666)
                name = nil
            } catch .notSupported {
                let fresh: [UInt8]
                do throws(VaultError) { fresh = try scratch.freshName() } catch { throw .ioError }
                file = try scratch.directory.createFile(fresh, mode: 0o666)
                name = fresh
            }
            // An existing file keeps its mode bits (spec 05 §12); a link or a FIFO in the way does not.
            if let existing, existing.kind == .regular { try file.setMode(existing.mode & 0o777) }
        } catch {
            throw .io(error, "cannot make a temporary file")
        }
    }

    func publish(as target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        do throws(Errno) {
            try move(to: target, in: folder, replacing: replacing)
        } catch {
            guard error == .crossDevice else { throw error }
            try copy(as: target, in: folder, replacing: replacing)
            if let name { try? scratch.directory.removeFile(name) }
        }
    }

    private func move(to target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        if let name {
            try scratch.directory.rename(name, to: folder, as: target, replacing: replacing)
            return
        }
        if !replacing {
            // A file that appeared after the look is somebody's work: `fileExists`, and nothing is replaced.
            try folder.link(file, as: target)
            return
        }
        let fresh: [UInt8]
        do throws(VaultError) { fresh = try scratch.freshName() } catch { throw .ioError }
        try scratch.directory.link(file, as: fresh)
        do throws(Errno) {
            try scratch.directory.rename(fresh, to: folder, as: target, replacing: true)
        } catch {
            try? scratch.directory.removeFile(fresh)
            throw error
        }
    }

    /// Where a mount lies inside the clone the file is written once more, in the target's folder (spec 03 §13).
    private func copy(as target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        let fresh: [UInt8]
        do throws(VaultError) { fresh = try ".vaultctl-".bytes + scratch.freshName() } catch { throw .ioError }
        let copy = try folder.createFile(fresh, mode: 0o666)
        do throws(Errno) {
            try copy.setMode(try file.status().mode)
            try file.seek(to: 0)
            while true {
                let chunk = try file.read(upTo: 1 << 20)
                if chunk.isEmpty { break }
                try copy.write(chunk.span)
            }
            try copy.sync()
            try folder.rename(fresh, to: folder, as: target, replacing: replacing)
        } catch {
            try? folder.removeFile(fresh)
            throw error
        }
    }
}
