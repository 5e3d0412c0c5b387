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

    init(root: any Directory, own: any Directory, remote: FolderRemote) throws(VaultError) {
        self.root = root
        self.own = own
        location = remote.location
        failPoints = remote.environment.failPoints
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
            for area in FolderArea.allCases { _ = try folder(area, in: bare) }
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

    private func folder(_ area: FolderArea, in bare: any Directory) throws(Errno) -> any Directory {
        var current = bare
        for name in area.names {
            if let known = try? current.openDirectory(name.bytes) {
                current = known
            } else {
                // Removed by somebody, or made for the first time: durable before anything is put into it.
                let made = try current.openDirectory(name.bytes, creatingWith: 0o777)
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
        try WorkerPool.forEach(count: names.count, workers: min(Self.syncWorkers, names.count)) { index in
            try attempt("cannot sync \(location)") { () throws(Errno) in
                try scratch.directory.openFile(names[index]).sync()
            }
        }
        try attempt("cannot sync \(location)") { () throws(Errno) in try scratch.directory.sync() }
    }

    private static let individualSyncs = 24
    private static let syncWorkers = 8

    /// Removes everything that is staged.
    func discard() throws(Errno) {
        try scratch.empty()
    }

    // MARK: The one step

    /// Gives staged files their names, as one step that the next writer finishes when this one can not.
    func publish(_ journal: FolderJournal) throws {
        guard !journal.steps.isEmpty else { return }
        do {
            let bytes = journal.bytes
            try attempt("cannot write the journal of \(location)") { () throws(Errno) in
                try scratch.replace(FolderJournal.name, in: own, with: bytes.span, mode: 0o600)
            }
        } catch {
            // Where the journal stands the batch counts, although it may not be durable.
            if journalIsAbsent { try? discard() }
            throw error
        }
        try hit(.folderJournalWritten)
        try carryOut(journal, isReplay: false)
    }

    private var journalIsAbsent: Bool {
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
                    hint: "use the version of vaultctl that wrote there, or move .vaultctl/journal away")
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
                let folder = try folder(FolderArea(of: step.target), in: bare)
                if try folder.statusIfPresent(of: step.target.leaf) == nil { return false }
            }
            return true
        }
    }

    private func carryOut(_ journal: FolderJournal, isReplay: Bool) throws(VaultError) {
        try attempt("cannot write to \(location)") { () throws(Errno) in
            let bare = try root.openDirectory(FolderStore.bareName, creatingWith: 0o777)
            let refs = journal.steps.firstIndex { $0.isRef } ?? journal.steps.count
            try rename(journal.steps[..<refs], bare, isReplay)
            try failPoints.hit(.folderBeforeRefs)
            try rename(journal.steps[refs...], bare, isReplay)
            try failPoints.hit(.folderRefsRenamed)
            try failPoints.hit(.folderDurable)
        }
        try removeJournal()
    }

    /// Renames files and makes their names durable.
    private func rename(
        _ steps: ArraySlice<FolderJournal.Step>, _ bare: any Directory, _ isReplay: Bool
    ) throws(Errno) {
        var folders: [FolderArea: any Directory] = [:]
        for step in steps {
            let area = FolderArea(of: step.target)
            let folder: any Directory
            if let known = folders[area] {
                folder = known
            } else {
                folder = try self.folder(area, in: bare)
                folders[area] = folder
            }
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
            try failPoints.hit(.folderRenamedOne)
        }
        for area in FolderArea.allCases { try folders[area]?.sync() }
    }

    private func removeJournal() throws(VaultError) {
        try attempt("cannot remove the journal of \(location)") { () throws(Errno) in
            // First the scratch names: a journal that a power cut brings back then finds nothing to rename.
            try scratch.directory.sync()
            try own.removeFile(FolderJournal.name)
            try own.sync()
            try failPoints.hit(.folderJournalRemoved)
        }
    }

    private func hit(_ point: FailPoint) throws(VaultError) {
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(point) }
    }
}
