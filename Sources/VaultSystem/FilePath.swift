/// A path as the kernel sees it: bytes, of any encoding.
///
/// A path that holds a NUL byte or is empty can be made but not used: every operation on it fails with
/// `Errno.invalidArgument` or `.noSuchFile`.
package struct FilePath: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// The path for messages: printable UTF-8 as it is, anything else quoted.
    package var text: String { QuotedName.text(bytes) }

    package var description: String { text }

    package var isAbsolute: Bool { bytes.first == Self.slash }

    /// The path of one entry of this directory.
    package func appending(component: [UInt8]) -> FilePath {
        guard !bytes.isEmpty else { return FilePath(bytes: component) }
        var joined = bytes
        joined.reserveCapacity(bytes.count + 1 + component.count)
        if joined.last != Self.slash { joined.append(Self.slash) }
        joined.append(contentsOf: component)
        return FilePath(bytes: joined)
    }

    package func appending(component: String) -> FilePath {
        appending(component: Array(component.utf8))
    }

    /// The path of `relative` seen from this directory; an absolute one stands for itself.
    package func appending(relative: [UInt8]) -> FilePath {
        if relative.first == Self.slash { return FilePath(bytes: relative) }
        return relative.isEmpty ? self : appending(component: relative)
    }

    /// The path of `other` seen from this directory; an absolute one stands for itself.
    package func appending(_ other: FilePath) -> FilePath {
        appending(relative: other.bytes)
    }

    /// The part after the last slash, trailing slashes left out; nil for the root and the empty path.
    package var lastComponent: [UInt8]? {
        let trimmed = withoutTrailingSlashes
        let start = trimmed.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0
        return start == trimmed.endIndex ? nil : Array(trimmed[start...])
    }

    /// The directory that holds the last component: `.` for a single name, the root for the root.
    package var parent: FilePath {
        let trimmed = withoutTrailingSlashes
        guard let cut = trimmed.lastIndex(of: Self.slash) else {
            return FilePath(bytes: isAbsolute ? [Self.slash] : [UInt8(ascii: ".")])
        }
        var kept = trimmed[..<cut]
        while kept.count > 1, kept.last == Self.slash { kept.removeLast() }
        return FilePath(bytes: kept.isEmpty ? [Self.slash] : Array(kept))
    }

    /// The components between slashes; empty ones are left out, `.` and `..` are kept.
    package var components: [[UInt8]] {
        bytes.split(separator: Self.slash).map(Array.init)
    }

    /// The absolute form without `.`, `..` and doubled slashes, by text alone: links are not looked at.
    package func lexicalAbsolute(from base: FilePath) -> FilePath {
        var kept: [[UInt8]] = []
        for component in (isAbsolute ? self : base.appending(self)).components {
            if component == [Self.dot] { continue }
            if component == [Self.dot, Self.dot] {
                _ = kept.popLast()
            } else {
                kept.append(component)
            }
        }
        guard !kept.isEmpty else { return FilePath(bytes: [Self.slash]) }
        return FilePath(bytes: kept.reduce(into: []) { $0 += [Self.slash] + $1 })
    }

    private var withoutTrailingSlashes: ArraySlice<UInt8> {
        var trimmed = bytes[...]
        while trimmed.last == Self.slash { trimmed.removeLast() }
        return trimmed
    }

    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
}

extension FilePath: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        self.init(value)
    }
}
