internal import VaultFormat
internal import VaultSystem

/// The folders of a folder remote while its lock is held: staging files, and giving them their names in one step.
final class FolderWriter: Sendable {
    let root: any Directory
    /// The folder `.vaultctl`.
    let own: any Directory
    let scratch: ScratchArea
    private let location: String
    private let failPoints: FailPoints
    /// How many syncs run side by side; one where the order of calls must be the same in every run.
    private let syncPool: WorkerPool

    init(root: any Directory, own: any Directory, remote: FolderRemote) throws(VaultError) {
        self.root = root
        self.own = own
        location = remote.location
        failPoints = remote.environment.failPoints
        syncPool = WorkerPool.uninterrupted(threads: remote.environment.pool.threads == 1 ? 1 : 8)
        let tmp = try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try own.openDirectory("tmp".bytes, creatingWith: 0o700)
        }
        scratch = ScratchArea(directory: tmp, random: remote.environment.random)
    }

    // MARK: Folders

    /// Makes every folder of the layout and makes them durable, with the folders above the remote's own.
    ///
    /// Once, before the owner record: where that stands, the names of all folders are durable.
    func makeLayout(above path: FilePath, fileSystem: any FileSystem) throws(VaultError) {
        try attempt("cannot make the folders of \(location)") { () throws(Errno) in
            let bare = try root.openDirectory(FolderStore.bareName, creatingWith: 0o777)
            for area in FolderArea.allCases { _ = try folder(area.names.map(\.bytes), in: bare) }
            let cache = try bare.openDirectory("cache".bytes)
            for directory in [cache, bare, own, root] { try directory.sync() }
            // What is above may have been made by a run that came no further.
            var above = path
            while above.parent != above {
                above = above.parent
                do throws(Errno) {
                    try fileSystem.openDirectory(above).sync()
                } catch {
                    // A folder that can not even be opened was not made by us, nor one that can not be synced.
                    guard error.isPermission || error == .invalidArgument || error == .readOnlyFileSystem else {
                        throw error
                    }
                }
            }
        }
    }

    private func folder(_ names: [[UInt8]], in bare: any Directory) throws(Errno) -> any Directory {
        var current = bare
        for name in names {
            if let known = try? current.openDirectory(name) {
                current = known
            } else {
                // Removed by somebody, or made for the first time: durable before anything is put into it.
                let made = try current.openDirectory(name, creatingWith: 0o777)
                try current.sync()
                current = made
            }
        }
        return current
    }

    // MARK: Staging

    /// Writes a file to the scratch folder and gives its name there.
    func stage(_ fill: ((Span<UInt8>) throws -> Void) throws -> Void) throws -> [UInt8] {
        let name = try scratch.freshName()
        let file = try attempt("cannot write to \(location)") { () throws(Errno) in
            try scratch.directory.createFile(name, mode: 0o666)
        }
        try fill { bytes in
            try attempt("cannot write to \(location)") { () throws(Errno) in try file.write(bytes) }
        }
        return name
    }

    /// Makes staged files durable, one by one when they are few, else with one flush of the file system.
    func syncStaged(_ names: [[UInt8]]) throws {
        if names.count > Self.individualSyncs {
            try attempt("cannot sync \(location)") { () throws(Errno) in
                try scratch.directory.syncFileSystem()
            }
            return
        }
        // Side by side: the file system then writes its own journal once for several.
        try syncPool.forEach(count: names.count + 1) { index in
            try attempt("cannot sync \(location)") { () throws(Errno) in
                if index == names.count {
                    try scratch.directory.sync()
                } else {
                    try scratch.directory.openFile(names[index]).sync()
                }
            }
        }
    }

    private static let individualSyncs = 24

    /// Removes everything that is staged.
    func discard() throws(Errno) {
        try scratch.empty()
    }

    // MARK: The one step

    /// Gives staged files their names, as one step that the next writer finishes when this one can not.
    ///
    /// After an error the caller discards what is staged, unless the journal stands: then the batch counts, although
    /// the journal may not be durable.
    ///
    /// A single file as well. Its rename alone would be one step, but the journal is then the last of every write: one
    /// that a power cut brings back does not undo what came after it, and a write that failed before its folder was
    /// synced is finished, and synced, before the same bytes are found there and taken for done. It costs two syncs.
    func publish(_ journal: FolderJournal) throws {
        guard !journal.steps.isEmpty else { return }
        let bytes = journal.bytes
        try attempt("cannot write the journal of \(location)") { () throws(Errno) in
            try scratch.replace(FolderJournal.name, in: own, with: bytes.span, mode: 0o600)
        }
        try hit(.folderJournalWritten)
        try carryOut(journal, isReplay: false)
    }

    /// Removes what is staged, unless a journal counts on it.
    func discardUnlessPublishing() throws(Errno) {
        if journalIsAbsent { try discard() }
    }

    /// Whether nothing that is staged counts yet.
    var journalIsAbsent: Bool {
        do throws(Errno) {
            return try own.statusIfPresent(of: FolderJournal.name) == nil
        } catch {
            return false
        }
    }

    /// Finishes the batch that a crash interrupted after its journal was written; drops one before that.
    func finishInterrupted() throws {
        let bytes = try attempt("cannot read the journal of \(location)") { () throws(Errno) in
            try own.readFileIfPresent(FolderJournal.name, limit: FolderJournal.limit)
        }
        if let bytes {
            guard let journal = FolderJournal(bytes) else {
                throw VaultError(
                    .formatUnsupported, "the journal of \(location) is not understood",
                    hint: "use the newer version that wrote there, or move .vaultctl/journal away")
            }
            if try isWhole(journal) {
                try carryOut(journal, isReplay: true)
            } else {
                // Somebody removed staged files. Without them no ref may move; what is there already does no harm.
                try removeJournal()
            }
        }
        try attempt("cannot empty the scratch folder of \(location)") { () throws(Errno) in try discard() }
    }

    /// Whether each file is staged still or has its name already.
    private func isWhole(_ journal: FolderJournal) throws(VaultError) -> Bool {
        try attempt("cannot read \(location)") { () throws(Errno) in
            let bare = try root.openDirectory(FolderStore.bareName, creatingWith: 0o777)
            for step in journal.steps {
                guard let temporary = step.temporary else { continue }
                if try scratch.directory.statusIfPresent(of: temporary) != nil { continue }
                let folder = try folder(step.target.folders, in: bare)
                if try folder.statusIfPresent(of: step.target.leaf) == nil { return false }
            }
            return true
        }
    }

    private func carryOut(_ journal: FolderJournal, isReplay: Bool) throws {
        let refs = journal.steps.firstIndex { $0.isRef } ?? journal.steps.count
        // What refs lead to is durable before a ref moves: a power cut in between leaves no hole.
        try sync(try rename(journal.steps[..<refs], isReplay))
        try hit(.folderBeforeRefs)
        let folders = try rename(journal.steps[refs...], isReplay)
        try hit(.folderRefsRenamed)
        try sync(folders)
        try hit(.folderDurable)
        try removeJournal()
        try hit(.folderJournalRemoved)
    }

    private func sync(_ folders: [any Directory]) throws {
        try syncPool.forEach(count: folders.count) { index in
            try attempt("cannot sync \(location)") { () throws(Errno) in try folders[index].sync() }
        }
    }

    /// Renames files and gives the folders they are in.
    private func rename(
        _ steps: ArraySlice<FolderJournal.Step>, _ isReplay: Bool
    ) throws(VaultError) -> [any Directory] {
        try attempt("cannot write to \(location)") { () throws(Errno) in
            let bare = try root.openDirectory(FolderStore.bareName, creatingWith: 0o777)
            var folders: [(names: [[UInt8]], directory: any Directory)] = []
            for step in steps {
                let names = step.target.folders
                let folder: any Directory
                if let known = folders.first(where: { $0.names == names }) {
                    folder = known.directory
                } else {
                    folder = try self.folder(names, in: bare)
                    folders.append((names, folder))
                }
                try rename(step, to: folder, isReplay)
                try failPoints.hit(.folderRenamedOne)
            }
            return folders.map(\.directory)
        }
    }

    private func rename(_ step: FolderJournal.Step, to folder: any Directory, _ isReplay: Bool) throws(Errno) {
        do throws(Errno) {
            if let temporary = step.temporary {
                try scratch.directory.rename(temporary, to: folder, as: step.target.leaf, replacing: true)
            } else {
                try folder.removeFile(step.target.leaf)
            }
        } catch {
            // Done before the interruption that this run follows, or nothing to remove.
            guard error == .noSuchFile, isReplay || step.temporary == nil else { throw error }
        }
    }

    /// Removes the journal; not durably, for nothing depends on that.
    ///
    /// A power cut may bring the last journal back, never an older one: each replaces the one before, and is synced.
    /// Its files are still those that the names it lists lead to, so carrying it out again changes nothing.
    private func removeJournal() throws(VaultError) {
        try attempt("cannot remove the journal of \(location)") { () throws(Errno) in
            try own.removeFile(FolderJournal.name)
        }
    }

    private func hit(_ point: FailPoint) throws(VaultError) {
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(point) }
    }
}
