internal import VaultFormat
package import VaultSystem

/// The SHA-256 of every file in a folder and below, to be signed as one (`docs/pki-format.md`).
///
/// Names and contents of files are covered; modes, times, owners and empty folders are not. `sha256sum -c` reads the
/// written form too.
public struct FolderManifest: Sendable, Equatable {
    /// A file of the folder.
    public struct Entry: Sendable, Equatable {
        /// The path below the folder, in bytes, with `/` between names.
        public let path: [UInt8]
        /// The SHA-256 of the content, 32 bytes.
        public let sha256: [UInt8]
    }

    /// In the order of the bytes of their paths; no path twice.
    public let entries: [Entry]

    private static let head = Array("# vaultctl manifest 1\n".utf8)
    private static let digestCount = 64
    private static let newline = UInt8(ascii: "\n")
    private static let escape = UInt8(ascii: "\\")

    /// Reads every file of a folder and below.
    ///
    /// * `path`: The folder.
    /// * `excluded`: Paths below the folder that are left out, for a manifest that lies in it.
    /// - Throws: `refused` for a symbolic link, a device or the like, which a digest cannot stand for, and for so many
    ///   files that the manifest would be larger than what is read; `cancelled` when the task is cancelled meanwhile; an
    ///   I/O error.
    public init(scanning path: String, excluding excluded: [[UInt8]] = []) throws(PKIError) {
        try self.init(scanning: FilePath(path), excluding: excluded, cancellation: NoCancellation())
    }

    /// The same for a path in bytes, which somebody can stop.
    package init(
        scanning path: FilePath, excluding excluded: [[UInt8]], cancellation: any Cancellation = NoCancellation(),
        limit: Int = PKILimits.manifest
    ) throws(PKIError) {
        var count = Self.head.count
        var entries: [Entry] = []
        let walk = FolderWalk(excluded: Set(excluded), cancellation: cancellation)
        try walk.run(path) { (item) throws(PKIError) in
            guard let file = item.file else {
                throw PKIError(
                    .refused, "\(item.name) is no regular file, and a manifest holds no other",
                    hint: "remove it, or sign the files one by one")
            }
            // Digest, two blanks, the path with its escapes and the mark of those, line end.
            let escapes = item.path.count { Self.escaped($0) != nil }
            count += Self.digestCount + 3 + item.path.count + escapes + min(escapes, 1)
            guard count <= limit else {
                throw PKIError(
                    .refused, "\(path.text) holds more files than one manifest lists",
                    hint: "sign the folders in it one by one")
            }
            entries.append(
                Entry(path: item.path, sha256: try FileDigest.of(file, name: item.name, cancellation: cancellation)))
        }
        self.entries = entries.sorted { $0.path.lexicographicallyPrecedes($1.path) }
    }

    /// Reads a manifest as it is written, at most 256 MiB.
    /// - Throws: `objectCorrupt`; `formatUnsupported` for another version.
    public init(parsing bytes: [UInt8]) throws(PKIError) {
        guard bytes.starts(with: Self.head) else {
            let isOther = bytes.starts(with: Self.head.dropLast(2))
            throw PKIError(
                isOther ? .formatUnsupported : .objectCorrupt,
                isOther ? "this version of a manifest is not supported" : "this is no manifest")
        }
        guard bytes.count <= PKILimits.manifest, bytes.last == Self.newline else { throw Self.damaged }
        var entries: [Entry] = []
        for line in bytes.dropFirst(Self.head.count).dropLast().split(
            separator: Self.newline, omittingEmptySubsequences: false) where bytes.count > Self.head.count
        {
            let entry = try Self.entry(line)
            if let last = entries.last {
                guard last.path.lexicographicallyPrecedes(entry.path) else { throw Self.damaged }
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// The written form: a line that names it, then for each file the digest in hex, two blanks and the path.
    ///
    /// As with `sha256sum`, a line begins with a backslash when line ends and backslashes in its path are escaped.
    public func bytes() -> [UInt8] {
        var output = Self.head
        for entry in entries {
            let isEscaped = entry.path.contains { Self.escaped($0) != nil }
            if isEscaped { output.append(Self.escape) }
            output += Hex.encode(entry.sha256.span)
            output += [0x20, 0x20]
            for byte in entry.path {
                if let letter = Self.escaped(byte) { output += [Self.escape, letter] } else { output.append(byte) }
            }
            output.append(Self.newline)
        }
        return output
    }

    /// What stands behind a backslash for a byte of a path; nil for a byte that stands for itself.
    private static func escaped(_ byte: UInt8) -> UInt8? {
        switch byte {
        case newline: UInt8(ascii: "n")
        case 0x0D: UInt8(ascii: "r")
        case escape: escape
        default: nil
        }
    }

    /// Compares a folder with the manifest: every file is read, and files that are not in it are found too.
    /// - Throws: `cancelled` when the task is cancelled meanwhile; an I/O error.
    public func differences(
        from path: String, excluding excluded: [[UInt8]] = []
    ) throws(PKIError) -> ManifestDifferences {
        try differences(from: FilePath(path), excluding: excluded, cancellation: NoCancellation())
    }

    /// The same for a path in bytes, which somebody can stop.
    package func differences(
        from path: FilePath, excluding excluded: [[UInt8]], cancellation: any Cancellation
    ) throws(PKIError) -> ManifestDifferences {
        var wanted: [[UInt8]: [UInt8]] = [:]
        for entry in entries { wanted[entry.path] = entry.sha256 }
        var (changed, unexpected): ([[UInt8]], [[UInt8]]) = ([], [])
        try FolderWalk(excluded: Set(excluded), cancellation: cancellation).run(path) { (item) throws(PKIError) in
            guard let digest = wanted.removeValue(forKey: item.path) else {
                unexpected.append(item.path)
                return
            }
            let isSame: Bool =
                if let file = item.file {
                    try FileDigest.of(file, name: item.name, cancellation: cancellation) == digest
                } else {
                    false
                }
            if !isSame { changed.append(item.path) }
        }
        let order = { (left: [UInt8], right: [UInt8]) in left.lexicographicallyPrecedes(right) }
        return ManifestDifferences(
            changed: changed.sorted(by: order), missing: wanted.keys.sorted(by: order),
            unexpected: unexpected.sorted(by: order))
    }

    private static func entry(_ line: ArraySlice<UInt8>) throws(PKIError) -> Entry {
        let isEscaped = line.first == escape
        let rest = Array(isEscaped ? line.dropFirst() : line)
        guard rest.count > digestCount + 2, rest[digestCount] == 0x20, rest[digestCount + 1] == 0x20,
            Hex.isLower(rest.span.extracting(first: digestCount)),
            let digest = Hex.decode(rest.span.extracting(first: digestCount))
        else { throw damaged }
        let path = try self.path(rest.dropFirst(digestCount + 2), isEscaped: isEscaped)
        return Entry(path: path, sha256: digest)
    }

    /// A path that stays below its folder, whose escapes are those that are needed.
    private static func path(_ written: ArraySlice<UInt8>, isEscaped: Bool) throws(PKIError) -> [UInt8] {
        var path: [UInt8] = []
        var wasEscaped = false
        var bytes = written.makeIterator()
        while let byte = bytes.next() {
            guard byte == escape, isEscaped else {
                guard byte != escape, byte != 0x0D, byte != 0 else { throw damaged }
                path.append(byte)
                continue
            }
            wasEscaped = true
            switch bytes.next() {
            case UInt8(ascii: "n"): path.append(newline)
            case UInt8(ascii: "r"): path.append(0x0D)
            case escape: path.append(escape)
            default: throw damaged
            }
        }
        let names = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let dot = UInt8(ascii: ".")
        guard wasEscaped == isEscaped, names.count <= PKILimits.manifestDepth,
            names.allSatisfy({ !$0.isEmpty && !$0.elementsEqual([dot]) && !$0.elementsEqual([dot, dot]) })
        else { throw damaged }
        return path
    }

    private static var damaged: PKIError { PKIError(.objectCorrupt, "the manifest is damaged") }
}

/// Where a folder differs from its manifest; paths in bytes, below the folder, in order.
public struct ManifestDifferences: Sendable, Equatable {
    /// Files with another content, or with something that is no file in their place.
    public let changed: [[UInt8]]
    /// Files that are not there.
    public let missing: [[UInt8]]
    /// What is there and not in the manifest.
    public let unexpected: [[UInt8]]

    /// Whether there is no difference.
    public var isEmpty: Bool { changed.isEmpty && missing.isEmpty && unexpected.isEmpty }
}
