/// A path in a vault that is safe to use below a working copy (03-clone-layout §8), except for what only the file system
/// can tell: symbolic links on the way.
///
/// It is relative, never empty, has no `..` and no protected segment; `.` and repeated slashes are gone. Paths are bytes:
/// two spellings of one name are two paths, and the order is that of the bytes.
public struct VaultPath: Hashable, Sendable, CustomStringConvertible {
    /// The path, segments separated by `/`.
    public let bytes: [UInt8]

    /// Checks and normalises a path.
    ///
    /// - Throws: `.unsafePath` when it is empty or blank, absolute, holds NUL, `..` (between slashes or backslashes) or a
    ///   protected segment, or names nothing but the folder itself; `.limitExceeded` when it is too long.
    public init(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.count <= Limits.pathLength else { throw .limit("a path is too long") }
        guard !UTF8Text.stripped(bytes.span).isEmpty else { throw .unsafePath("a path is empty") }
        guard bytes[0] != 0x2F, bytes[0] != 0x5C else { throw Self.refused("is absolute", bytes) }
        try Self.check(bytes)
        let segments = bytes.split(separator: 0x2F).filter { !$0.elementsEqual([0x2E]) }
        guard !segments.isEmpty else { throw Self.refused("names the folder itself", bytes) }
        self.bytes = Array(segments.joined(separator: [0x2F]))
    }

    /// Checks and normalises a path.
    ///
    /// - Throws: as the initialiser that takes bytes.
    public init(_ text: String) throws(FormatError) {
        try self.init(Array(text.utf8))
    }

    /// A path that was checked before and stored in its normal form.
    package init(unchecked bytes: [UInt8]) {
        self.bytes = bytes
    }

    private static func check(_ bytes: [UInt8]) throws(FormatError) {
        guard !bytes.contains(0) else { throw refused("holds NUL", bytes) }
        for segment in bytes.split(whereSeparator: { $0 == 0x2F || $0 == 0x5C })
        where segment.elementsEqual([0x2E, 0x2E]) {
            throw refused("leaves the folder", bytes)
        }
        guard !isProtected(bytes) else { throw refused("is reserved", bytes) }
    }

    private static func refused(_ reason: StaticString, _ bytes: [UInt8]) -> FormatError {
        .unsafePath("the path \(PathQuoting.text(bytes)) \(reason)")
    }

    /// Whether a path has a protected segment: the store, git's folder, a backup.
    public static func isProtected(_ bytes: [UInt8]) -> Bool { PathGuard.isProtected(bytes.span) }

    /// Whether one segment is protected.
    public static func isProtectedSegment(_ bytes: [UInt8]) -> Bool { PathGuard.isProtected(bytes.span) }

    /// The path as text, in quotes and with escapes where it holds anything but printable UTF-8.
    public var description: String { PathQuoting.text(bytes) }
}

extension VaultPath: Comparable {
    /// Compares the bytes.
    public static func < (lhs: VaultPath, rhs: VaultPath) -> Bool {
        lhs.bytes.lexicographicallyPrecedes(rhs.bytes)
    }
}

extension VaultPath {
    /// The names from the root down.
    public var segments: [[UInt8]] { bytes.split(separator: 0x2F).map { Array($0) } }

    /// The name of the file or folder itself.
    public var lastSegment: [UInt8] {
        Array(bytes[(bytes.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...])
    }

    /// The folder the path is in; nil at the top.
    public var parent: VaultPath? {
        bytes.lastIndex(of: 0x2F).map { VaultPath(unchecked: Array(bytes[..<$0])) }
    }

    /// The path of something in this folder.
    ///
    /// - Throws: `.unsafePath` when `segment` is no single safe name; `.limitExceeded` when the path gets too long.
    public func appending(_ segment: [UInt8]) throws(FormatError) -> VaultPath {
        try Self.checkSegment(segment)
        guard bytes.count + 1 + segment.count <= Limits.pathLength else { throw .limit("a path is too long") }
        return VaultPath(unchecked: bytes + [0x2F] + segment)
    }

    /// The path of something in a folder, or at the top when there is none.
    package static func joining(_ folder: VaultPath?, _ segment: [UInt8]) throws(FormatError) -> VaultPath {
        guard let folder else {
            try checkSegment(segment)
            return try VaultPath(segment)
        }
        return try folder.appending(segment)
    }

    private static func checkSegment(_ segment: [UInt8]) throws(FormatError) {
        guard !segment.isEmpty, !segment.elementsEqual([0x2E]), !segment.contains(0x2F) else {
            throw refused("is no single name", segment)
        }
        try check(segment)
    }

    /// Whether the path lies below `folder`, at any depth.
    public func isBelow(_ folder: VaultPath) -> Bool {
        bytes.count > folder.bytes.count && bytes[folder.bytes.count] == 0x2F && bytes.starts(with: folder.bytes)
    }
}
