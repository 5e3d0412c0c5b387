package import VaultFormat

/// The place of a file below a vault's `bare/`, known kind or not: what a server stores without looking into it.
///
/// Cannot lead outside or to a hidden place: no empty segment, no `.` or `..`, no backslash, no control character.
package struct StorePath: Hashable, Sendable {
    /// The path as on the wire, `bare/…`.
    package let text: String

    /// Most bytes of a path.
    package static let longest = 512
    /// Most segments of a path.
    package static let deepest = 8

    /// Checks a path; nil when it is none that a vault's store may hold.
    package init?(_ text: String) {
        let utf8 = text.utf8
        guard utf8.count <= Self.longest, utf8.starts(with: "bare/".utf8) else { return nil }
        var segments = 0
        for segment in utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard (1...255).contains(segment.count), segment.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != 0x5C })
            else { return nil }
            guard segment.first != UInt8(ascii: ".") || !segment.allSatisfy({ $0 == UInt8(ascii: ".") }) else {
                return nil
            }
            segments += 1
        }
        guard segments <= Self.deepest else { return nil }
        self.text = text
    }

    /// The place of a file of a known kind.
    package init(_ id: FileID) {
        text = id.path
    }

    /// Whether its content never changes: such ids hold `-imm-`.
    package var isImmutable: Bool { Self.isImmutable(text) }

    /// Whether a path holds `-imm-`; compared bytewise, for every read asks.
    package static func isImmutable(_ path: String) -> Bool {
        var matched = 0
        for byte in path.utf8 {
            if byte == immutableMark[matched] {
                matched += 1
                if matched == immutableMark.count { return true }
            } else {
                // The mark repeats its first byte at its end only, so a mismatch begins anew.
                matched = byte == immutableMark[0] ? 1 : 0
            }
        }
        return false
    }

    private static let immutableMark = Array("-imm-".utf8)

    /// The names of the folders on the way, seen from `bare/`.
    var folders: [[UInt8]] {
        text.utf8.split(separator: UInt8(ascii: "/")).dropFirst().dropLast().map(Array.init)
    }

    /// The file's name in its folder.
    var leaf: [UInt8] {
        text.utf8.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
    }

    var isCache: Bool { text.hasPrefix("bare/cache/") }

    /// Objects, keys, caches, indexes, clone refs, other refs; what is not known comes with the objects.
    var publicationOrder: Int {
        if text.hasPrefix("bare/refs/") {
            guard case .ref(let id)? = try? FileID(path: text) else { return 5 }
            return id.kind == .clone ? 4 : 5
        }
        if text.hasPrefix("bare/indexes/") { return 3 }
        if isCache { return 2 }
        return text.hasPrefix("bare/keys/") ? 1 : 0
    }
}
