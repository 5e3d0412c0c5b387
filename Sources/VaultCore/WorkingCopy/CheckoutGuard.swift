internal import VaultFormat
internal import VaultSystem

/// Decides, before the first write, whether moving the working copy would lose anything (spec 05 §7.8).
///
/// Every path that the move touches is read again; no cache is believed here.
struct CheckoutGuard: Sendable {
    let root: any Directory
    let blobs: BlobReader
    let pool: WorkerPool
    /// Finishing a move that a power cut may have stopped: files that it left torn are written anew.
    var mendsTorn = false
    /// Tracked paths that this platform could not hold: that they are not on disk is nobody's deletion.
    var notStored: Set<VaultPath> = []

    /// What the move has to do once it is known to be safe.
    struct Plan: Sendable {
        var write: [CheckoutItem] = []
        var remove: [CheckoutRemoval] = []
        /// Touched paths whose content on disk is the incoming one already.
        var alreadyThere: [VaultPath] = []
    }

    enum OnDisk: Sendable {
        case absent
        case file(ContentHash, FileMark)
        case folder
        /// A link, a special file, or a file that never held still.
        case other
        /// It can not be looked at.
        case unreadable(Errno)
        /// A file or link stands where a folder on the way should be.
        case blockedBy(VaultPath)
    }

    private enum Step: Sendable {
        case write(CheckoutItem.Expectation)
        case remove(FileMark)
        case nothing, alreadyThere, blocked
    }

    /// Checks the differences between what the working copy is based on and what it is to become.
    ///
    /// * `leavingOthers`: Leave paths that hold something else as they are, and out of the plan.
    /// - Throws: `dirtyTree`, naming the paths in the way; nothing has been written then.
    func plan(_ differences: [TreeDifference], leavingOthers: Bool = false) throws -> Plan {
        let removed = Set(differences.filter { $0.new == nil }.map(\.path))
        let foldsNames = try attempt("cannot look at the working copy") { () throws(Errno) in try root.foldsNames() }
        let steps = try pool.map(count: (differences.count + 63) / 64) { index -> [Step] in
            try differences[index * 64..<min(differences.count, index * 64 + 64)].map { item in
                try step(item, removed: removed, foldsNames: foldsNames)
            }
        }.flatMap { $0 }
        var plan = Plan()
        var blocked: [VaultPath] = []
        for (item, step) in zip(differences, steps) {
            switch step {
            case .write(let expected):
                if let entry = item.new {
                    plan.write.append(CheckoutItem(path: item.path, entry: entry, expected: expected))
                }
            case .remove(let stat): plan.remove.append(CheckoutRemoval(path: item.path, expected: stat))
            case .alreadyThere: plan.alreadyThere.append(item.path)
            case .nothing: break
            case .blocked: blocked.append(item.path)
            }
        }
        guard blocked.isEmpty || leavingOthers else { throw try inTheWay(blocked) }
        return plan
    }

    private func step(_ item: TreeDifference, removed: Set<VaultPath>, foldsNames: Bool) throws -> Step {
        let disk = try onDisk(item.path, foldsNames: foldsNames)
        switch (item.old, item.new, disk) {
        case (_, nil, .absent), (_, nil, .folder), (_, nil, .other), (_, nil, .unreadable), (_, nil, .blockedBy):
            return .nothing
        case (_, .some, .unreadable(let error)):
            throw VaultError.io(error, "cannot look at \(item.path)", path: item.path.description)
        case (let old?, nil, .file(let hash, let stat)):
            return try hash == contentHash(old) ? .remove(stat) : .blocked
        case (nil, let new?, .file(let hash, let stat)):
            if try hash == contentHash(new) { return .alreadyThere }
            return try isTorn(item.path, new) ? .write(.file(stat)) : .blocked
        case (let old?, let new?, .file(let hash, let stat)):
            if try hash == contentHash(new) { return .alreadyThere }
            return try hash == contentHash(old) || isTorn(item.path, new) ? .write(.file(stat)) : .blocked
        case (nil, .some, .absent): return .write(.absent)
        case (.some, .some, .absent): return notStored.contains(item.path) ? .write(.absent) : .blocked
        case (nil, .some, .blockedBy(let path)): return removed.contains(path) ? .write(.absent) : .blocked
        case (nil, .some, .folder):
            return try holdsOnly(item.path, removed) ? .write(.absent) : .blocked
        default: return .blocked
        }
    }

    /// What undoes an interrupted move.
    ///
    /// Files that have the new content, and files that the move removed, get their old content back. Whatever a person
    /// did since is left as it is.
    func rollback(_ differences: [TreeDifference]) throws -> Plan {
        var plan = Plan()
        let foldsNames = try attempt("cannot look at the working copy") { () throws(Errno) in try root.foldsNames() }
        for item in differences {
            let disk = try onDisk(item.path, foldsNames: foldsNames)
            switch (item.old, item.new, disk) {
            case (let old, let new?, .file(let hash, let stat)):
                let isOurs = try hash == contentHash(new) || isTorn(item.path, new)
                let isOld = try old.map { try hash == contentHash($0) } ?? false
                guard isOurs, !isOld else { continue }
                if let old {
                    plan.write.append(CheckoutItem(path: item.path, entry: old, expected: .file(stat)))
                } else {
                    plan.remove.append(CheckoutRemoval(path: item.path, expected: stat))
                }
            // A replaced file is never absent, not even for a moment: one that is was removed by a person.
            case (let old?, nil, .absent), (let old?, nil, .folder), (let old?, nil, .blockedBy):
                plan.write.append(CheckoutItem(path: item.path, entry: old, expected: .absent))
            default: continue
            }
        }
        return plan
    }

    func onDisk(_ path: VaultPath, foldsNames: Bool) throws -> OnDisk {
        do {
            var folder: any Directory = root
            var walked: VaultPath?
            for segment in path.parent?.segments ?? [] {
                walked = walked.map { $0.child(segment) } ?? VaultPath(unchecked: segment)
                do throws(Errno) {
                    if foldsNames, try !folder.lists(segment) { return .absent }
                    folder = try folder.openDirectory(segment)
                } catch {
                    switch error {
                    case .notADirectory, .tooManyLinks: return .blockedBy(walked ?? path)
                    case .nameTooLong, .invalidArgument, .illegalName: return .absent
                    default: throw error
                    }
                }
            }
            if foldsNames, try !folder.lists(path.lastSegment) { return .absent }
            switch try folder.status(of: path.lastSegment).kind {
            case .directory: return .folder
            case .regular: break
            default: return .other
            }
            guard let (hash, status) = try FileHasher(pool: pool).contentHash(of: path, in: root) else { return .other }
            return .file(hash, FileMark(status))
        } catch let error as Errno {
            switch error {
            case .noSuchFile, .nameTooLong, .invalidArgument, .illegalName: return .absent
            case .wouldBlock: return .other
            case .permissionDenied: return .unreadable(error)
            default: throw VaultError.io(error, "cannot read \(path)", path: path.description)
            }
        }
    }

    /// Whether a file on disk is what a power cut leaves of one being written: not longer than the new content, and
    /// each byte either that of the new content or zero.
    ///
    /// Nothing that a person made is in such a file, so nothing is lost with it: an empty one least of all.
    private func isTorn(_ path: VaultPath, _ new: FileEntry) throws -> Bool {
        guard mendsTorn else { return false }
        let file = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
            try root.openDirectory(beneath: path.parent?.bytes ?? []).openFile(path.lastSegment)
        }
        func next(_ count: Int) throws(VaultError) -> [UInt8] {
            try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
                try file.read(fillingUpTo: count, sizeHint: count)
            }
        }
        var fits = true
        do {
            try blobs.stream(new, check: .during) { chunk in
                guard fits else { return }
                let bytes = try next(chunk.count)
                fits = bytes.indices.allSatisfy { bytes[$0] == 0 || bytes[$0] == chunk[$0] }
            }
        } catch let error as VaultError where error.code == .objectMissing || error.code == .objectCorrupt {
            return false  // it was never written from an object that is not there
        }
        return try fits && next(1).isEmpty
    }

    /// Whether everything in a folder on disk is about to be removed.
    private func holdsOnly(_ folder: VaultPath, _ removed: Set<VaultPath>) throws -> Bool {
        var pending = [folder]
        while let next = pending.popLast() {
            let entries = try attempt("cannot list \(next)", path: next.description) { () throws(Errno) in
                try root.openDirectory(beneath: next.bytes).entries()
            }
            for entry in entries {
                let path = next.child(entry.name)
                if entry.kind == .directory { pending.append(path) } else if !removed.contains(path) { return false }
            }
        }
        return true
    }

    /// The hash of an entry's content; read from the blob for entries of old vaults that have none.
    func contentHash(_ entry: FileEntry) throws -> ContentHash {
        if let hash = entry.contentHash { return hash }
        let hash = try IncrementalHash()
        try blobs.stream(entry) { try hash.update($0) }
        return ContentHash(digest: try hash.finish())
    }

    /// The refusal that names what is in the way: work that could be committed, or what no commit holds.
    func inTheWay(_ paths: [VaultPath]) throws -> VaultError {
        let odd = try paths.filter { path in
            let folder: any Directory
            do throws(Errno) { folder = try root.openDirectory(beneath: path.parent?.bytes ?? []) } catch {
                return false
            }
            let found = try attempt("cannot look at \(path)", path: path.description) { () throws(Errno) in
                try folder.statusIfPresent(of: path.lastSegment)
            }
            return found.map { $0.kind != .regular && $0.kind != .directory } ?? false
        }
        guard odd.count == paths.count, let first = odd.first else { return Self.blocked(paths) }
        return VaultError(
            .dirtyTree,
            "a link or a special file, which no commit holds, is in the way: \(Self.listed(odd)); nothing was changed",
            hint: "move it away", path: first.description)
    }

    private static func listed(_ paths: [VaultPath]) -> String {
        paths.prefix(5).map(\.description).joined(separator: ", ")
            + (paths.count > 5 ? " and \(paths.count - 5) more" : "")
    }

    /// The refusal that names uncommitted work in the way.
    static func blocked(_ paths: [VaultPath]) -> VaultError {
        VaultError(
            .dirtyTree, "uncommitted work would be overwritten: \(listed(paths)); nothing was changed",
            hint: "commit it, or move it away", path: paths.first?.description)
    }
}
