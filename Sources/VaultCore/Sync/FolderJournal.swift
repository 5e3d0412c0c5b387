internal import VaultFormat
internal import VaultSystem

/// The folders of a folder remote that a batch writes to, and the journal that makes its renames one step.
final class WriteFolders: Sendable {
    let scratch: ScratchArea
    private let root: any Directory
    private let own: any Directory
    private let remote: FolderRemote
    private static let journalName = "journal".bytes
    private static let journalLimit = 1 << 28

    init(root: any Directory, own: any Directory, remote: FolderRemote) throws(VaultError) {
        self.root = root
        self.own = own
        self.remote = remote
        let tmp = try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try own.openDirectory("tmp".bytes, creatingWith: 0o700)
        }
        scratch = ScratchArea(directory: tmp, random: remote.environment.random)
    }

    /// Finishes the batch that a crash interrupted after its journal was durable; drops one before that.
    func finishInterrupted() throws {
        let bytes = try attempt("cannot read the journal of \(remote.location)") { () throws(Errno) in
            try own.readFileIfPresent(Self.journalName, limit: Self.journalLimit)
        }
        if let bytes {
            guard let value = try? JSONReader.parse(bytes.span), value["v"] == .integer(1),
                let items = value["steps"]?.items
            else {
                throw VaultError(.formatUnsupported, "the journal of \(remote.location) is not understood")
            }
            try carryOut(items.compactMap(FolderStep.init), isReplay: true)
        }
        try attempt("cannot empty the scratch folder of \(remote.location)") { () throws(Errno) in
            try scratch.empty()
        }
    }

    /// Writes a file to the scratch folder and gives its name there.
    func write(_ fill: ((Span<UInt8>) throws -> Void) throws -> Void) throws -> [UInt8] {
        let name = try scratch.freshName()
        let file = try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try scratch.directory.createFile(name, mode: 0o666)
        }
        do {
            try fill { bytes in
                try attempt("cannot write to \(remote.location)") { () throws(Errno) in try file.write(bytes) }
            }
        } catch {
            try? scratch.directory.removeFile(name)
            throw error
        }
        return name
    }

    /// Gives staged files their names, as one step.
    func publish(_ steps: [FolderStep], workers: Int) throws {
        guard !steps.isEmpty else { return }
        let journal = JSONValue.object([
            JSONMember(name: "v", value: .integer(1)),
            JSONMember(name: "steps", value: .array(steps.map(\.json))),
        ])
        let bytes = JSONWriter.bytes(journal, .compact)
        try attempt("cannot write the journal of \(remote.location)") { () throws(Errno) in
            try scratch.directory.sync()
            try scratch.replace(Self.journalName, in: own, with: bytes.span, mode: 0o600)
            try remote.environment.failPoints.hit(.folderJournalWritten)
        }
        try carryOut(steps, isReplay: false)
    }

    private func carryOut(_ steps: [FolderStep], isReplay: Bool) throws {
        let points = remote.environment.failPoints
        let isRef: (FolderStep) -> Bool = { $0.order >= 3 }
        try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            let bare = try root.openDirectory("bare".bytes, creatingWith: 0o777)
            try root.sync()
            var opened: [[String]: any Directory] = [:]
            var touched: [[String]] = []
            var syncedObjects = false
            for step in steps.sorted(by: { $0.order < $1.order }) {
                if isRef(step), !syncedObjects {
                    for folders in touched { try opened[folders]?.sync() }
                    try bare.sync()
                    syncedObjects = true
                    try points.hit(.folderBeforeRefs)
                }
                let place = FolderStore.place(of: step.target)
                let folder: any Directory
                if let known = opened[place.folders] {
                    folder = known
                } else {
                    var current = bare
                    for name in place.folders { current = try current.openDirectory(name.bytes, creatingWith: 0o777) }
                    folder = current
                    opened[place.folders] = current
                }
                if !touched.contains(place.folders) { touched.append(place.folders) }
                try rename(step, name: place.name, in: folder, isReplay: isReplay)
                try points.hit(.folderRenamedOne)
            }
            try points.hit(.folderRefsRenamed)
            for folders in touched { try opened[folders]?.sync() }
            try bare.sync()
            try points.hit(.folderDurable)
            try own.removeFile(Self.journalName)
            try own.sync()
            try points.hit(.folderJournalRemoved)
        }
    }

    private func rename(
        _ step: FolderStep, name: [UInt8], in folder: any Directory, isReplay: Bool
    ) throws(Errno) {
        do throws(Errno) {
            guard let temporary = step.temporary else {
                try folder.removeFile(name)
                return
            }
            try scratch.directory.rename(temporary, to: folder, as: name, replacing: true)
        } catch {
            // Removed already, or done before the crash that this replay follows.
            guard error == .noSuchFile, isReplay || step.temporary == nil else { throw error }
        }
    }
}
