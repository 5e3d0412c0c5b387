internal import VaultFormat
internal import VaultSystem

extension Directory {
    /// What stands in the place of a file and is none, told as damage; nil where a file stands there, or nothing.
    ///
    /// * `label`: The file's place in the vault's folder.
    func misplaced(_ name: [UInt8], as label: String) -> VaultError? {
        guard let status = try? statusIfPresent(of: name), let what = status.kind.misplacedText else { return nil }
        return VaultError(
            .objectCorrupt, "\(label) is \(what), not a file", hint: "vaultctl fsck --repair", path: label)
    }

    /// The content of a small file of the vault, or nil when it is absent.
    ///
    /// - Throws: `objectCorrupt` for what is no file, or an I/O error.
    func stored(
        _ name: String, as label: String, limit: Int, path: String? = nil
    ) throws(VaultError) -> [UInt8]? {
        do throws(Errno) { return try contents(name, limit: limit) } catch {
            if let misplaced = misplaced(name.bytes, as: label) { throw misplaced }
            throw .io(error, "cannot read \(label)", path: path)
        }
    }
}

extension FileKind {
    /// What this is, where it stands in the place of a file; nil for a file.
    var misplacedText: String? {
        switch self {
        case .regular, .unknown: nil
        case .directory: "a directory"
        case .symbolicLink: "a symbolic link"
        case .other: "a pipe, a socket or a device"
        }
    }
}

extension Vault {
    /// Moves what is no file from the places of the clone's own files to the quarantine.
    ///
    /// An empty file is put there instead: what an unreadable one stops is stopped still, and it is mended as one.
    func mendMisplaced(_ scratch: ScratchArea) throws(VaultError) -> Mended {
        var mended = Mended()
        func mend(
            _ folder: any Directory, _ place: String, aside prefix: String = "", _ isOurs: (String) -> Bool
        ) throws(VaultError) {
            let entries = try attempt("cannot list \(place)") { () throws(Errno) in try folder.entries() }
            for entry in entries {
                let name = String(decoding: entry.name, as: UTF8.self)
                guard let what = entry.kind.misplacedText, isOurs(name) else { continue }
                try setAside(name, in: folder, as: prefix + name)
                let nothing: [UInt8] = []
                try attempt("cannot write \(place)/\(name)") { () throws(Errno) in
                    try scratch.replace(entry.name, in: folder, with: nothing.span, mode: 0o600)
                }
                // What is stored under an id is told by it.
                mended.names.append(place.hasPrefix("bare/") ? name : "\(place)/\(name)")
                mended.notes.append("\(place)/\(name) was \(what); it is in local/vaultctl/quarantine now")
                if name == "base_url" { mended.notes.append("local/base_url: \(Self.lostServer)") }
            }
        }
        let shared = Set([
            CloneConfig.fileName, "base_url", RemoteHeads.fileName, "remotes.json", "pending_registration.json",
            "push_state.json", MergeState.fileName, Selection.recordName, Selection.staleName,
        ])
        try mend(layout.local, "local") { shared.contains($0) }
        let own = Set(OwnRecord.all.map(\.name))
        if let folder = try layout.ownFolder(create: false) {
            try mend(folder, "local/vaultctl", aside: "vaultctl-") { own.contains($0) }
        }
        try mend(layout.indexes, "bare/indexes") { $0 == ids.index.text }
        try mend(layout.refs, "bare/refs") { (try? RefID($0)) != nil }
        try mend(layout.keys, "bare/keys") { (try? KeyID($0)) != nil }
        return mended
    }
}
