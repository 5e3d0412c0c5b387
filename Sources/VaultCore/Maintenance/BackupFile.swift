internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A backup being read: its members, each checked by name, place, size and checksum (spec 05 §14).
struct BackupFile {
    let members: [(member: BackupMember, at: StoredZip.Member)]
    /// Names that no backup has.
    let skipped: [String]
    private let file: any File
    private let name: String

    /// Reads the directory.
    ///
    /// - Throws: `objectCorrupt` for what is no zip or is made to harm, `formatUnsupported` for a compressed one,
    ///   `refused` for a zip that holds no store.
    init(_ file: any File, name: String) throws(VaultError) {
        self.file = file
        self.name = name
        let found = try attempt("cannot read \(name)", path: name) { () throws(Errno) in
            let status = try file.status()
            guard status.kind == .regular, let size = Int(exactly: status.size) else { throw .invalidArgument }
            return try StoredZip.members(size: size) { (offset: Int, count: Int) throws(Errno) in
                try Self.read(file, Int64(offset), count)
            }
        }
        let all: [StoredZip.Member]
        switch found {
        case .success(let members): all = members
        case .failure(let error): throw .format(error, "the backup \(name)")
        }
        var known: [(member: BackupMember, at: StoredZip.Member)] = []
        var skipped: [String] = []
        for entry in all {
            guard let member = BackupMember(name: entry.name) else {
                skipped.append(PathQuoting.text(entry.name))
                continue
            }
            guard entry.size <= member.limit else {
                throw VaultError(
                    .objectCorrupt, "a member of the backup is too large: \(PathQuoting.text(entry.name))", path: name)
            }
            known.append((member, entry))
        }
        guard known.contains(where: { if case .stored = $0.member { true } else { false } }) else {
            throw VaultError(.refused, "\(name) is no backup of a vault", path: name)
        }
        members = known
        self.skipped = skipped.sorted()
    }

    private static func read(_ file: any File, _ offset: Int64, _ count: Int) throws(Errno) -> [UInt8] {
        try file.seek(to: offset)
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        let filled = try file.read(filling: &span)
        return filled == count ? bytes : Array(bytes.prefix(filled))
    }

    func holds(_ member: BackupMember) -> Bool { members.contains { $0.member == member } }

    /// A small member whole; nil when there is none.
    func content(_ member: BackupMember) throws -> [UInt8]? {
        guard let found = members.first(where: { $0.member == member }) else { return nil }
        var bytes: [UInt8] = []
        try stream(found.at) { span in for index in span.indices { bytes.append(span[index]) } }
        return bytes
    }

    /// A secret member; nil when there is none.
    func secret(_ member: BackupMember) throws(VaultError) -> SecretBytes? {
        guard let found = members.first(where: { $0.member == member })?.at else { return nil }
        try attempt("cannot read \(name)", path: name) { () throws(Errno) in try file.seek(to: found.start) }
        guard found.size > 0 else { throw VaultError(.objectCorrupt, "a key in the backup is empty", path: name) }
        let secret = try SecretBytes(reading: file, count: Int(found.size))
        var checksum = CRC32()
        secret.withBytes { checksum.add($0) }
        guard checksum.value == found.checksum else { throw damaged(found) }
        return secret
    }

    /// Gives the bytes of a member piece by piece.
    ///
    /// - Throws: `objectCorrupt` after the last piece when the checksum does not fit.
    func stream(_ member: StoredZip.Member, into sink: (Span<UInt8>) throws -> Void) throws {
        var checksum = CRC32()
        var done: Int64 = 0
        while done < member.size {
            let piece = try attempt("cannot read \(name)", path: name) { () throws(Errno) in
                try Self.read(file, member.start + done, Int(min(1 << 20, member.size - done)))
            }
            guard !piece.isEmpty else { throw damaged(member) }
            checksum.add(piece.span)
            try sink(piece.span)
            done += Int64(piece.count)
        }
        guard checksum.value == member.checksum else { throw damaged(member) }
    }

    private func damaged(_ member: StoredZip.Member) -> VaultError {
        VaultError(
            .objectCorrupt, "the backup is damaged: \(PathQuoting.text(member.name)) does not have its checksum",
            path: name)
    }

    /// Reads everything: checksums, and objects against their ids.
    ///
    /// - Returns: How many objects.
    func verify(pool: WorkerPool) throws -> Int {
        var objects = 0
        for (member, place) in members {
            try pool.checkCancellation()
            guard case .stored(.object(let id)) = member else {
                try stream(place) { _ in }
                continue
            }
            let hash = try IncrementalHash()
            try stream(place) { try hash.update($0) }
            guard id.matches(digest: try hash.finish()) else {
                throw VaultError(
                    .objectCorrupt, "the backup holds object \(id.text) with other bytes than those of its id",
                    hint: "vaultctl fsck --repair, in the clone it is of", object: id.text)
            }
            objects += 1
        }
        try requireRefs(forObjects: objects)
        return objects
    }

    /// Refuses a backup with objects and not one ref: nothing would lead to them.
    func requireRefs(forObjects objects: Int) throws(VaultError) {
        let holdsRef = members.contains { if case .stored(.ref) = $0.0 { true } else { false } }
        guard objects == 0 || holdsRef else {
            throw VaultError(
                .objectCorrupt, "the backup has lost its refs, so nothing leads to its \(objects) objects",
                hint: "use another backup, or clone from a server")
        }
    }
}

extension File {
    /// SHA-256 of the whole file, 64 hex digits.
    func wholeDigest() throws -> String {
        try attempt("cannot read the backup") { () throws(Errno) in try seek(to: 0) }
        let hash = try IncrementalHash()
        while true {
            let piece = try attempt("cannot read the backup") { () throws(Errno) in try read(upTo: 1 << 20) }
            if piece.isEmpty { break }
            try hash.update(piece.span)
        }
        let digest = try hash.finish()
        return String(decoding: Hex.encode(digest.span), as: UTF8.self)
    }
}
