internal import VaultFormat

/// One path of a stash and what it held.
struct StashedFile: Sendable, Equatable {
    enum Kind: String, Sendable {
        case added, modified, deleted
    }

    var path: VaultPath
    var kind: Kind
    /// Its content; nil for a deletion, and for a file of the reference's zip that was not read yet.
    var entry: FileEntry?
}

/// A stash as its files tell it.
struct StashRecord: Sendable, Equatable {
    /// The folder in `local/vaultctl/stash`, or the zip in `local/stash`.
    var name: [UInt8]
    var timeMs: Int64
    var base: ObjectID?
    var branch: String?
    var message: String?
    var files: [StashedFile]
    /// False for one of the reference.
    var isOwn = true
    /// Why nothing more of it is known.
    var damage: VaultError?

    func info(_ number: Int) -> StashInfo {
        func paths(_ kind: StashedFile.Kind) -> [VaultPath] { files.filter { $0.kind == kind }.map(\.path) }
        return StashInfo(
            number: number, timeMs: timeMs, base: base, branch: branch, message: message,
            changes: Changes(added: paths(.added), modified: paths(.modified), deleted: paths(.deleted)),
            isEncrypted: isOwn, damage: damage)
    }

    // MARK: The manifest

    var json: JSONValue {
        .object([
            JSONMember(name: "v", value: .integer(1)),
            JSONMember(name: "time_ms", value: .integer(timeMs)),
            JSONMember(name: "base", value: .optional(base?.text)),
            JSONMember(name: "branch", value: .optional(branch)),
            JSONMember(name: "message", value: .optional(message)),
            JSONMember(
                name: "files",
                value: .array(
                    files.map { file in
                        .object([
                            JSONMember(name: "path", value: .string(Base64.text(file.path.bytes.span))),
                            JSONMember(name: "kind", value: .string(file.kind.rawValue)),
                            JSONMember(name: "blob_id", value: .optional(file.entry?.blobID.text)),
                            JSONMember(name: "size", value: .integer(file.entry?.size ?? 0)),
                            JSONMember(name: "hash", value: .optional(file.entry?.contentHash?.hex)),
                            JSONMember(name: "large", value: .bool(file.entry?.isLarge ?? false)),
                        ])
                    })),
        ])
    }

    /// Reads a manifest.
    ///
    /// - Throws: `formatUnsupported` for a newer one, `objectCorrupt`.
    init(reading value: JSONValue, name: [UInt8]) throws(VaultError) {
        guard value["v"]?.int == 1 else {
            throw VaultError(.formatUnsupported, "a stash was made by a newer vaultctl", hint: "use that version")
        }
        self.name = name
        timeMs = value["time_ms"]?.int ?? 0
        base = value["base"]?.text.flatMap { try? ObjectID($0) }
        branch = value["branch"]?.text
        message = value["message"]?.text
        var files: [StashedFile] = []
        for item in value["files"]?.items ?? [] {
            guard let bytes = item["path"]?.text.flatMap({ Base64.decode(Array($0.utf8).span) }),
                let path = try? VaultPath(bytes),
                let kind = item["kind"]?.text.flatMap({ StashedFile.Kind(rawValue: $0) })
            else { throw Self.damaged(name) }
            var entry: FileEntry?
            if kind != .deleted {
                guard let id = item["blob_id"]?.text.flatMap({ try? ObjectID($0) }), let size = item["size"]?.int,
                    let hash = item["hash"]?.text.flatMap({ try? ContentHash(hex: $0) })
                else { throw Self.damaged(name) }
                entry = FileEntry(
                    blobID: id, size: size, contentHash: hash, contentType: ContentType.guess(name: path.lastSegment),
                    isLarge: item["large"]?.boolean == true)
            }
            files.append(StashedFile(path: path, kind: kind, entry: entry))
        }
        self.files = files
    }

    init(
        name: [UInt8], timeMs: Int64, base: ObjectID?, branch: String?, message: String?, files: [StashedFile],
        isOwn: Bool = true
    ) {
        self.name = name
        self.timeMs = timeMs
        self.base = base
        self.branch = branch
        self.message = message
        self.files = files
        self.isOwn = isOwn
    }

    static func damaged(_ name: [UInt8]) -> VaultError {
        VaultError(.objectCorrupt, "the stash \(PathQuoting.text(name)) does not read", path: PathQuoting.text(name))
    }
}
