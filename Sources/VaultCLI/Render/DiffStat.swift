internal import VaultCore
internal import VaultFormat

/// How much differs in each file, and in all of them.
struct DiffStat {
    private struct Row {
        var name: String
        var added: Int
        var removed: Int
        /// What stands in place of a number.
        var note: String?
    }

    private var rows: [Row] = []
    private(set) var linesAdded = 0
    private(set) var linesRemoved = 0
    private var byStatus: [FileDiff.Status: Int] = [:]
    /// The number of files.
    private(set) var count = 0
    /// Rows are kept for `write` only.
    var keepsRows = true

    private static let narrowestBar = 10
    private static let narrowestName = 12
    private static let widestBar = 60

    mutating func add(_ file: FileDiff) {
        count += 1
        byStatus[file.status, default: 0] += 1
        let (added, removed) = (file.linesAdded ?? 0, file.linesRemoved ?? 0)
        linesAdded += added
        linesRemoved += removed
        guard keepsRows else { return }
        let name = [file.oldPath, file.path].compactMap { $0 }.map {
            String(decoding: TextSafety.path($0.bytes), as: UTF8.self)
        }.joined(separator: " => ")
        var note: String?
        if file.content == .binary || file.content == .tooLarge {
            let kind = file.content == .binary ? "Bin" : "Large"
            note = "\(kind) \(file.before?.size ?? 0) -> \(file.after?.size ?? 0) bytes"
        }
        rows.append(Row(name: name, added: added, removed: removed, note: note))
    }

    /// A line for each file and one for all.
    func write(to lines: Lines, _ text: TextRenderer) throws {
        let most = rows.map { $0.added + $0.removed }.max() ?? 0
        let numberWidth = max(String(most).count, rows.contains { $0.note != nil } ? 3 : 0)
        let columns = text.call.surroundings.standardOutput.columns ?? 80
        // A name that leaves no room for the shortest bar loses its beginning.
        let longest = max(columns - numberWidth - 5 - Self.narrowestBar, Self.narrowestName)
        let names = rows.map { DisplayWidth.tail($0.name, columns: longest) }
        let nameWidth = names.map(DisplayWidth.of).max() ?? 0
        let room = columns - nameWidth - numberWidth - 5
        let barWidth = min(max(room, Self.narrowestBar), Self.widestBar)
        for (row, shown) in zip(rows, names) {
            let name = TextLayout.padded(shown, to: nameWidth)
            if let note = row.note {
                try lines.line(" \(name) | \(note)")
                continue
            }
            let number = String(row.added + row.removed)
            let padding = String(repeating: " ", count: numberWidth - number.count)
            let (plus, minus) = Self.scaled(row.added, row.removed, most: most, to: barWidth)
            let bar =
                try text.coloured(String(repeating: "+", count: plus), plus > 0 ? .good : nil)
                + text.coloured(String(repeating: "-", count: minus), minus > 0 ? .bad : nil)
            try lines.line(" \(name) | \(padding)\(number)\(bar.isEmpty ? "" : " ")\(bar)")
        }
        try lines.line(" " + summary)
    }

    /// The lengths of a bar's two parts: the numbers where all fit, else their share, and at least 1 of what there is.
    private static func scaled(_ added: Int, _ removed: Int, most: Int, to width: Int) -> (Int, Int) {
        guard most > width else { return (added, removed) }
        func share(_ number: Int) -> Int { number == 0 ? 0 : max(1, number * width / most) }
        return (share(added), share(removed))
    }

    /// `2 files changed, 3 insertions(+), 1 deletion(-)`.
    var summary: String {
        var parts = ["\(count) file\(count == 1 ? "" : "s") changed"]
        if linesAdded > 0 || linesRemoved == 0 {
            parts.append("\(linesAdded) insertion\(linesAdded == 1 ? "" : "s")(+)")
        }
        if linesRemoved > 0 || linesAdded == 0 {
            parts.append("\(linesRemoved) deletion\(linesRemoved == 1 ? "" : "s")(-)")
        }
        return parts.joined(separator: ", ")
    }

    /// `totals`.
    var jsonValue: JSONValue {
        .record([
            "files": .count(count),
            "added": .count(byStatus[.added] ?? 0),
            "modified": .count(byStatus[.modified] ?? 0),
            "deleted": .count(byStatus[.deleted] ?? 0),
            "renamed": .count(byStatus[.renamed] ?? 0),
            "lines_added": .count(linesAdded),
            "lines_removed": .count(linesRemoved),
        ])
    }
}
