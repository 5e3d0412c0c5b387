internal import VaultCore
internal import VaultFormat

/// Entries of a folder and of those in it, drawn as a tree.
struct TreeDrawing {
    let entries: [ListEntry]
    /// The folder that was listed; nil for the root.
    let base: VaultPath?
    let style: ListAnswer.Style

    func write(to text: TextRenderer) throws {
        if entries.count == 1, let file = entries.first, file.path == base { return try line("", file, text) }
        let depth = base.map { $0.segments.count } ?? 0
        let rows = entries.map { (segments: Array($0.path.segments.dropFirst(depth)), entry: $0) }
            .sorted { $0.segments.lexicographicallyPrecedes($1.segments) { $0.lexicographicallyPrecedes($1) } }
        // Whether more follows at a depth is known from behind.
        var prefixes: [String] = []
        var open: Set<Int> = []
        for row in rows.reversed() {
            let level = row.segments.count
            open = open.filter { $0 <= level }
            var prefix = ""
            for above in 1..<max(level, 1) { prefix += open.contains(above) ? "|   " : "    " }
            prefixes.append(prefix + (open.insert(level).inserted ? "`-- " : "|-- "))
        }
        for (row, prefix) in zip(rows, prefixes.reversed()) { try line(prefix, row.entry, text) }
    }

    private func line(_ prefix: String, _ entry: ListEntry, _ text: TextRenderer) throws {
        let name = entry.path.lastSegment + (entry.kind == .folder ? [UInt8(ascii: "/")] : [])
        var end = ""
        if style.isLong, let size = entry.size { end += "  \(size)" }
        if style.showsIDs { end += "  \(entry.objectID.text)" }
        if !entry.isLocal { end += "  (not here)" }
        try text.call.output.write(Array(prefix.utf8) + TextSafety.path(name) + Array((end + "\n").utf8))
    }
}
