internal import VaultFormat
internal import VaultSystem

/// The files of a vault in an opened folder, for reading.
///
/// Below the folder a link is followed only to a place inside it; one that leads outside, or nowhere, is as if
/// nothing stood there.
final class FolderStore: Sendable {
    /// What kind of folder it is; decides whether it may be written.
    enum Kind: Sendable, Equatable {
        /// Nothing in it yet but what a folder remote has.
        case writable
        /// A folder remote, if its owner record says so, with other things beside.
        case writableIfOwned
        /// A clone, a store of one, or something published: read only.
        case readOnly(String)
    }

    let kind: Kind
    private let root: any Directory
    /// The names that lead from the root to `bare`; nil when there is none.
    private let bare: [[UInt8]]?
    private let path: FilePath
    private let location: String
    private let fileSystem: any FileSystem
    /// The folders of the areas, opened when first needed; the inner nil is one that is not there.
    private let opened = Locked([(any Directory)??](repeating: nil, count: FolderArea.allCases.count))

    /// Own folder of a folder remote: owner record, lock, journal.
    static let ownName = ".vaultctl".bytes
    static let bareName = "bare".bytes
    static let ownerName = "owner.json".bytes

    init(root: any Directory, remote: FolderRemote) throws(Errno) {
        self.root = root
        path = remote.path
        location = remote.location
        fileSystem = remote.environment.fileSystem
        let names = Set(try root.entries().map(\.name))
        let published = ["api", "vault", "read", remote.vaultID.text].map(\.bytes)
        if names.contains(".sg_vault".bytes) {
            bare = [".sg_vault".bytes, Self.bareName]
            kind = .readOnly("a working clone")
        } else if names.contains(Self.bareName) {
            bare = [Self.bareName]
            if names.contains("local".bytes) {
                kind = .readOnly("the store of a clone")
            } else if names.contains("manifest.json".bytes) {
                kind = .readOnly("a published folder")
            } else if names.isSubset(of: [Self.bareName, Self.ownName]) {
                kind = .writable
            } else {
                kind = names.contains(Self.ownName) ? .writableIfOwned : .readOnly("a folder that holds something else")
            }
        } else if try Self.holds(published, root) {
            bare = published + [Self.bareName]
            kind = .readOnly("a published folder")
        } else {
            bare = nil
            kind = names.isSubset(of: [Self.ownName]) ? .writable : .readOnly("a folder that holds something else")
        }
    }

    /// Whether folders stand at these names, links included.
    private static func holds(_ names: [[UInt8]], _ root: any Directory) throws(Errno) -> Bool {
        var current = root
        for name in names {
            guard let status = try current.statusIfPresent(of: name) else { return false }
            // Whether a link leads to something of ours is found out when it is opened.
            if status.kind == .symbolicLink { return true }
            guard status.kind == .directory else { return false }
            current = try current.openDirectory(name)
        }
        return true
    }

    // MARK: Reading

    func read(_ id: FileID, limit: Int) throws(VaultError) -> RemoteFile {
        guard let (file, size) = try open(id) else { return .absent }
        if size > Int64(limit) { return .large(size: size) }
        return try attempt("cannot read \(id.path) of \(location)", path: id.path) { () throws(Errno) in
            .content(try file.readToEnd(limit: limit, sizeHint: Int(size)))
        }
    }

    /// Opens a file; nil when it is absent.
    func open(_ id: FileID) throws(VaultError) -> (file: any File, size: Int64)? {
        do throws(Errno) {
            let area = FolderArea(of: id)
            guard let folder = try folder(area), let file = try Self.openFile(id.leaf, in: folder, or: self, area)
            else {
                return nil
            }
            let status = try file.status()
            guard status.kind == .regular else { throw status.kind == .directory ? .isADirectory : .invalidArgument }
            return (file, status.size)
        } catch {
            throw .io(error, "cannot read \(id.path) of \(location)", path: id.path)
        }
    }

    /// The files of an area whose names are file ids, in the order of their names; sizes only when asked for.
    func list(_ area: RemoteArea, withSizes: Bool = false) throws(VaultError) -> [(id: FileID, size: Int64)] {
        var result: [(id: FileID, size: Int64)] = []
        for area in FolderArea.all(in: area) {
            let entries = try attempt("cannot list \(location)", path: location) { () throws(Errno) in
                try folder(area)?.entries() ?? []
            }
            var found: [(name: [UInt8], id: FileID)] = []
            for entry in entries {
                guard let id = area.file(named: entry.name) else { continue }
                switch entry.kind {
                case .regular, .unknown: found.append((entry.name, id))
                // A link counts when what it leads to does.
                case .symbolicLink: if try open(id) != nil { found.append((entry.name, id)) }
                case .directory, .other: continue
                }
            }
            found.sort { $0.name.lexicographicallyPrecedes($1.name) }
            let opened = try attempt("cannot list \(location)") { () throws(Errno) in try folder(area) }
            guard withSizes, let folder = opened else {
                result += found.map { ($0.id, 0) }
                continue
            }
            for (name, id) in found {
                let status = try attempt("cannot look at \(id.path) of \(location)", path: id.path) {
                    () throws(Errno) in try folder.statusIfPresent(of: name)
                }
                let isLink = status?.kind == .symbolicLink
                result.append((id, isLink ? try open(id)?.size ?? 0 : status?.size ?? 0))
            }
        }
        return result
    }

    // MARK: Finding

    private func folder(_ area: FolderArea) throws(Errno) -> (any Directory)? {
        if let known = opened.withLock({ $0[area.rawValue] }) { return known }
        guard let bare else { return nil }
        let folder = try openFolder(bare + area.names.map(\.bytes))
        opened.withLock { $0[area.rawValue] = .some(folder) }
        return folder
    }

    /// Opens a folder below the root; nil when it is absent.
    private func openFolder(_ names: [[UInt8]]) throws(Errno) -> (any Directory)? {
        do throws(Errno) {
            return try root.openDirectory(path: names)
        } catch {
            switch error {
            case .noSuchFile: return nil
            case .notADirectory, .tooManyLinks:
                // A link stands on the way, or a file, which is no folder that is absent.
                guard let inside = try insidePath(names) else { return nil }
                if inside == names { throw error }
                return try root.openDirectory(path: inside)
            default: throw error
            }
        }
    }

    private static func openFile(
        _ name: [UInt8], in folder: any Directory, or store: FolderStore, _ area: FolderArea
    ) throws(Errno) -> (any File)? {
        do throws(Errno) {
            return try folder.openFile(name)
        } catch {
            switch error {
            case .noSuchFile: return nil
            case .tooManyLinks:
                let names = (store.bare ?? []) + area.names.map(\.bytes) + [name]
                guard let inside = try store.insidePath(names), let last = inside.last else { return nil }
                return try (store.root.openDirectory(path: inside.dropLast()) ?? store.root).openFile(last)
            default: throw error
            }
        }
    }

    /// Where names below the root lead when links are followed, as names without links below the root; nil when that
    /// is outside, or nowhere.
    ///
    /// The answer is then walked without following links, so that one planted in between leads nowhere.
    private func insidePath(_ names: [[UInt8]]) throws(Errno) -> [[UInt8]]? {
        let top: [[UInt8]]
        let found: [[UInt8]]
        do throws(Errno) {
            top = try fileSystem.canonicalPath(path).components
            found = try fileSystem.canonicalPath(names.reduce(path) { $0.appending(component: $1) }).components
        } catch {
            switch error {
            case .noSuchFile, .tooManyLinks: return nil
            default: throw error
            }
        }
        guard found.count > top.count, found.starts(with: top) else { return nil }
        return Array(found.dropFirst(top.count))
    }
}
