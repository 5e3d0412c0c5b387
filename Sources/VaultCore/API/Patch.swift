internal import VaultFormat

/// One line of a patch.
public struct PatchLine: Sendable, Equatable {
    /// What a line of a patch is.
    public enum Kind: Sendable {
        /// Names of files, and what happened to them.
        case header
        /// `@@ -1,3 +1,4 @@`.
        case hunk
        /// A line that both texts have, after a blank.
        case context
        /// A line that only the old text has, after `-`.
        case removed
        /// A line that only the new text has, after `+`.
        case added
        /// `\ No newline at end of file`.
        case marker
    }

    /// What it is.
    public var kind: Kind
    /// Its bytes, without a line feed at the end.
    public var bytes: [UInt8]
}

extension FileDiff {
    /// The difference as a patch that `git apply` and `patch -p1` take, lines with their line feeds.
    ///
    /// Contents that were not compared as text are told in a line that no tool applies.
    public var patch: [UInt8] {
        var bytes: [UInt8] = []
        writePatch { line in bytes += line.bytes + [0x0A] }
        return bytes
    }

    /// Gives the patch line by line.
    ///
    /// * `hashesBinary`: Tells sizes and SHA-256 of contents that are no text.
    public func writePatch(hashesBinary: Bool = false, _ body: (PatchLine) throws -> Void) rethrows {
        func header(_ text: String) throws { try body(PatchLine(kind: .header, bytes: Array(text.utf8))) }
        let (left, right) = (Self.quoted("a/", oldPath ?? path), Self.quoted("b/", path))
        try header("diff --git \(left) \(right)")
        switch status {
        case .added: try header("new file mode 100644")
        case .deleted: try header("deleted file mode 100644")
        case .renamed:
            // Only files with the same content are taken for renamed.
            try header("similarity index 100%")
            try header("rename from \(Self.quoted("", oldPath ?? path))")
            try header("rename to \(Self.quoted("", path))")
        case .modified: break
        }
        let oldName = before == nil ? "/dev/null" : left
        let newName = after == nil ? "/dev/null" : right
        switch content {
        case .notRead: return
        case .binary, .tooLarge:
            guard status != .renamed else { return }
            try header("\(content == .binary ? "Binary" : "Large") files \(oldName) and \(newName) differ")
            guard hashesBinary else { return }
            if let before { try body(PatchLine(kind: .removed, bytes: Self.told("-", before))) }
            if let after { try body(PatchLine(kind: .added, bytes: Self.told("+", after))) }
        case .text(let hunks):
            guard !hunks.isEmpty else { return }
            // A tab ends a name with blanks in it, which `patch` would take for the beginning of a date.
            try header("--- \(oldName)\(oldName.contains(" ") ? "\t" : "")")
            try header("+++ \(newName)\(newName.contains(" ") ? "\t" : "")")
            for hunk in hunks { try hunk.write(body) }
        }
    }

    private static func told(_ mark: String, _ side: Side) -> [UInt8] {
        Array("\(mark)size \(side.size) sha256 \(side.sha256 ?? "unknown")".utf8)
    }

    private static func quoted(_ prefix: String, _ path: VaultPath) -> String {
        PathQuoting.text(Array(prefix.utf8) + path.bytes)
    }
}

extension DiffHunk {
    /// `@@ -1,3 +1,4 @@`: a count of 1 is left out, an empty side names the line before it.
    public var header: String {
        "@@ -\(Self.range(oldStart, oldCount)) +\(Self.range(newStart, newCount)) @@"
    }

    private static func range(_ start: Int, _ count: Int) -> String {
        let first = count == 0 ? start : start + 1
        return count == 1 ? "\(first)" : "\(first),\(count)"
    }

    fileprivate func write(_ body: (PatchLine) throws -> Void) rethrows {
        try body(PatchLine(kind: .hunk, bytes: Array(header.utf8)))
        for line in lines {
            let (kind, mark): (PatchLine.Kind, UInt8) =
                switch line.kind {
                case .context: (.context, UInt8(ascii: " "))
                case .removed: (.removed, UInt8(ascii: "-"))
                case .added: (.added, UInt8(ascii: "+"))
                }
            try body(PatchLine(kind: kind, bytes: [mark] + (line.hasLineFeed ? line.bytes.dropLast() : line.bytes)))
            if !line.hasLineFeed {
                try body(PatchLine(kind: .marker, bytes: Array("\\ No newline at end of file".utf8)))
            }
        }
    }
}
