internal import VaultFormat
internal import VaultSystem

/// Where a remote is, in the one spelling under which it is remembered.
struct RemotePlace: Hashable, Sendable {
    let text: String

    /// A place as it was remembered.
    init(text: String) {
        self.text = text
    }

    /// The place of an address: a URL, a `file:` URL, or a path, seen from `root` where it is relative.
    ///
    /// Links on the way to a folder are followed as far as it exists.
    init(address: String, root: FilePath, fileSystem: any FileSystem) {
        guard let path = Self.path(address) else {
            text = Self.url(address)
            return
        }
        // By the file system and not by text: a link may stand before a `..`.
        let plain = path.isAbsolute ? path : root.appending(path)
        var missing: [[UInt8]] = []
        var existing = plain
        while let name = existing.lastComponent {
            if let found = try? fileSystem.canonicalPath(existing) {
                text = missing.reversed().reduce(found) { $0.appending(component: $1) }.text
                return
            }
            missing.append(name)
            existing = existing.parent
        }
        text = plain.lexicalAbsolute(from: root).text
    }

    private static func path(_ address: String) -> FilePath? {
        if address.lowercased().hasPrefix("file:") { return try? FolderRemote.localPath(address) }
        return address.contains("://") ? nil : FilePath(address)
    }

    /// Scheme and host without capitals, and no slash at the end (RFC 3986 §6.2.2.1).
    private static func url(_ address: String) -> String {
        var bytes = Array(address.utf8)
        while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        var slashes = 0
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "/") { slashes += 1 }
            if slashes == 3 { break }
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) { bytes[index] |= 0x20 }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Vault {
    func place(of address: String) -> RemotePlace {
        RemotePlace(address: address, root: rootPath, fileSystem: environment.fileSystem)
    }

    /// The place that this clone records, which its tracking ref belongs to.
    func recordedPlace() throws(VaultError) -> RemotePlace? {
        try recordedServer().map { place(of: $0) }
    }

    /// Whether the local named ref follows this remote: the recorded one, or any where none is recorded.
    func isTracked(_ remote: any Remote) throws(VaultError) -> Bool {
        guard let recorded = try recordedPlace() else { return true }
        return recorded == place(of: remote.location)
    }

    /// The heads that this clone accepted from a remote.
    ///
    /// - Throws: `refRewound` when their record is lost or damaged.
    func acceptedHeads(of remote: any Remote, _ state: CloneState) throws(VaultError) -> RemoteHeads {
        try acceptedHeads(at: place(of: remote.location), state)
    }

    /// The same of a remote at a place.
    func acceptedHeads(at place: RemotePlace, _ state: CloneState) throws(VaultError) -> RemoteHeads {
        let recorded = try recordedPlace()
        let ref = state.namedBranch.headRefID
        if recorded == place { return try RemoteHeads(files: files, config: state.config, tracked: ref) }
        let own = try RemoteHeads(files: files, at: place)
        // A clone that records no server, made by another program: what it accepted may be of this place.
        if recorded == nil, own.heads.isEmpty, try !RemoteHeads.hasOthers(files) {
            let legacy = try RemoteHeads(files: files, config: state.config, tracked: ref)
            return RemoteHeads(legacy, at: place)
        }
        return own
    }
}
