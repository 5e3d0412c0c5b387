/// Content types by file name, as the reference guesses them without the machine's own type files (02-objects §13).
package enum ContentType {
    /// What is said about a name that tells nothing.
    package static let unknown = "application/octet-stream"

    /// The type for a file name, one path segment.
    package static func guess(name: [UInt8]) -> String {
        var rest = name[...]
        // A colon before any slash makes the part before it a scheme, as in `data:text/html,x`.
        if let colon = name.firstIndex(of: 0x3A), colon > 0, !name[..<colon].contains(0x2F) {
            rest = name[(colon + 1)...]
            if lowered(name[..<colon]) == "data" { return dataType(rest) }
        }
        var (stem, ext) = split(rest)
        var steps = 0
        while let replacement = ContentTypeTable.suffixes[lowered(ext)], steps < 4 {
            rest = stem + Array(replacement.utf8)
            (stem, ext) = split(rest)
            steps += 1
        }
        if ContentTypeTable.encodings.contains(String(decoding: ext, as: UTF8.self)) {
            ext = split(stem).ext
        }
        return ContentTypeTable.types[lowered(ext)] ?? unknown
    }

    private static func dataType(_ rest: ArraySlice<UInt8>) -> String {
        guard let comma = rest.firstIndex(of: 0x2C) else { return unknown }
        let head = rest[..<comma]
        let type = head[..<(head.firstIndex(of: 0x3B) ?? comma)]
        guard type.contains(0x2F), !type.contains(0x3D) else { return "text/plain" }
        return String(decoding: type, as: UTF8.self)
    }

    /// The stem and the extension without its dot; dots that begin the last segment belong to the stem.
    private static func split(_ name: ArraySlice<UInt8>) -> (stem: ArraySlice<UInt8>, ext: ArraySlice<UInt8>) {
        let start = name.lastIndex(of: 0x2F).map { $0 + 1 } ?? name.startIndex
        let first = name[start...].firstIndex { $0 != 0x2E } ?? name.endIndex
        guard let dot = name[first...].lastIndex(of: 0x2E) else { return (name, []) }
        return (name[..<dot], name[(dot + 1)...])
    }

    private static func lowered(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
