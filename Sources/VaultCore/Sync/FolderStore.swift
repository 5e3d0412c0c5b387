internal import VaultFormat
internal import VaultSystem

/// The files of a vault in an opened folder, for reading.
final class FolderStore: Sendable {
    /// What kind of folder it is; decides whether it may be written.
    enum Kind: Sendable, Equatable {
        /// Nothing in it yet, or a folder remote.
        case writable
        /// A clone, a store of one, or something published: read only.
        case readOnly(String)
    }

    let root: any Directory
    /// The folder `bare`; nil when there is none yet.
    let bare: (any Directory)?
    let kind: Kind
    private let location: String
    /// Folders below `bare`, opened when first needed; nil for one that is not there.
    private let opened = Locked<[[String]: (any Directory)?]>([:])

    /// Own folder of a folder remote: owner record, lock, journal.
    static let ownName = ".vaultctl".bytes

    init(root: any Directory, vaultID: VaultID, location: String) throws(Errno) {
        self.root = root
        self.location = location
        let names = Set(try root.entries().map(\.name))
        if names.contains(".sg_vault".bytes) {
            bare = try Self.folder(root, ["sg_vault"].map { "." + $0 } + ["bare"])
            kind = .readOnly("a working clone")
            return
        }
        if names.contains("bare".bytes), names.contains("local".bytes) {
            bare = try Self.folder(root, ["bare"])
            kind = .readOnly("the store of a clone")
            return
        }
        if names.contains("bare".bytes) {
            bare = try Self.folder(root, ["bare"])
            let isOurs = names.contains(Self.ownName) || names.count == 1
            kind = isOurs && !names.contains("manifest.json".bytes) ? .writable : .readOnly("a published folder")
            return
        }
        if let published = try Self.folder(root, ["api", "vault", "read", vaultID.text, "bare"]) {
            bare = published
            kind = .readOnly("a published folder")
            return
        }
        bare = nil
        let isEmpty = names.isEmpty || names == [Self.ownName]
        kind = isEmpty ? .writable : .readOnly("a folder that holds something else")
    }

    /// A folder below another, following no link; nil when it is not there.
    private static func folder(_ root: any Directory, _ names: [String]) throws(Errno) -> (any Directory)? {
        var current = root
        for name in names {
            do throws(Errno) {
                current = try current.openDirectory(name.bytes)
            } catch {
                switch error {
                case .noSuchFile, .notADirectory, .tooManyLinks: return nil
                default: throw error
                }
            }
        }
        return current
    }

    /// The folder of a kind of file, below `bare`, and the file's name in it.
    static func place(of id: FileID) -> (folders: [String], name: [UInt8]) {
        switch id {
        case .object(let id): (["data"], id.text.bytes)
        case .ref(let id): (["refs"], id.text.bytes)
        case .index(let id): (["indexes"], id.text.bytes)
        case .key(let id): (["keys"], id.text.bytes)
        case .cacheValue(let id): (["cache", "value"], id.text.bytes)
        case .cachePointer(let id): (["cache", "pointer"], id.text.bytes)
        }
    }

    private func folder(_ names: [String]) throws(Errno) -> (any Directory)? {
        guard let bare else { return nil }
        if let known = opened.withLock({ $0[names] }) { return known }
        let folder = try Self.folder(bare, names)
        opened.withLock { $0[names] = .some(folder) }
        return folder
    }

    /// Opens a file; nil when it is absent, or when a link stands anywhere on the way.
    func open(_ id: FileID) throws(VaultError) -> (file: any File, size: Int64)? {
        let place = Self.place(of: id)
        do throws(Errno) {
            guard let folder = try folder(place.folders) else { return nil }
            let file = try folder.openFile(place.name)
            let status = try file.status()
            guard status.kind == .regular else { return nil }
            return (file, status.size)
        } catch {
            switch error {
            case .noSuchFile, .tooManyLinks: return nil
            default: throw .io(error, "cannot read \(id.path) of \(location)", path: id.path)
            }
        }
    }

    func read(_ id: FileID, limit: Int) throws(VaultError) -> RemoteFile {
        guard let (file, size) = try open(id) else { return .absent }
        if size > Int64(limit) { return .large(size: size) }
        return try attempt("cannot read \(id.path) of \(location)", path: id.path) { () throws(Errno) in
            .content(try file.readToEnd(limit: limit, sizeHint: Int(size)))
        }
    }

    /// The files of an area whose names are file ids, in no particular order; sizes only when asked for.
    func list(_ area: RemoteArea, withSizes: Bool = false) throws(VaultError) -> [(id: FileID, size: Int64)] {
        guard bare != nil else { return [] }
        var result: [(id: FileID, size: Int64)] = []
        for folders in Self.folders(of: area) {
            try attempt("cannot list \(location)", path: location) { () throws(Errno) in
                guard let folder = try folder(folders) else { return }
                let prefix = "bare/" + folders.joined(separator: "/") + "/"
                for entry in try folder.entries() where entry.kind == .regular || entry.kind == .unknown {
                    guard let name = String(validating: entry.name, as: UTF8.self),
                        let id = try? FileID(path: prefix + name)
                    else { continue }
                    result.append((id, withSizes ? try folder.statusIfPresent(of: entry.name)?.size ?? 0 : 0))
                }
            }
        }
        return result
    }

    private static func folders(of area: RemoteArea) -> [[String]] {
        switch area {
        case .objects: [["data"]]
        case .refs: [["refs"]]
        case .keys: [["keys"]]
        case .indexes: [["indexes"]]
        case .cache: [["cache", "value"], ["cache", "pointer"]]
        case .all: [["data"], ["refs"], ["keys"], ["indexes"], ["cache", "value"], ["cache", "pointer"]]
        }
    }
}
