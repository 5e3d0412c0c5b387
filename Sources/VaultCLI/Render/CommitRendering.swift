internal import VaultCore
internal import VaultFormat

extension TextRenderer {
    /// A commit with its message, line by line.
    func lines(of commit: CommitInfo) throws -> [String] {
        var lines = [try coloured("commit \(commit.id.text)", .id)]
        if commit.parents.count > 1 {
            lines.append("Merge:     " + commit.parents.map { short($0) }.joined(separator: " "))
        }
        if let author = commit.authorName {
            let key = commit.authorKeyID.map { " (\(TextSafety.line($0)))" } ?? ""
            lines.append("Author:    \(TextSafety.line(author))\(key)")
        }
        lines.append("Date:      \(time(commit.timeMs))")
        if let signature = commit.signature { lines.append(try line(of: signature)) }
        return lines + [""] + indented(commit.message)
    }

    /// A tag with its message, line by line.
    func lines(of tag: TagInfo) throws -> [String] {
        var lines = [try coloured("tag \(TextSafety.line(tag.name))", .id)]
        if let tagger = tag.taggerName {
            let key = tag.taggerKeyID.map { " (\(TextSafety.line($0)))" } ?? ""
            lines.append("Tagger:    \(TextSafety.line(tagger))\(key)")
        }
        if let made = tag.timeMs { lines.append("Date:      \(time(made))") }
        lines.append(try line(of: tag.signature))
        return lines + [""] + (tag.message.isEmpty ? [] : indented(tag.message) + [""])
    }

    private func line(of signature: SignatureStatus) throws -> String {
        let tone: Colour.Tone = signature == .verified ? .good : signature == .bad ? .bad : .changed
        return "Signature: \(try coloured(signature.rawValue, tone))"
    }

    private func indented(_ message: String) -> [String] {
        TextSafety.lines(message).split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "" : "    \($0)"
        }
    }

    /// A commit on one line.
    func oneLine(_ commit: CommitInfo) throws -> String {
        let signature = commit.signature.map { " (\($0.rawValue))" } ?? ""
        return "\(try coloured(short(commit.id), .id))\(signature) \(TextSafety.line(commit.subject))"
    }
}

extension [JSONMember] {
    /// An entry of `log`, also the beginning of what `show` tells.
    static func logEntry(_ entry: LogEntry) -> [JSONMember] {
        let commit = entry.commit
        let changes = entry.changes.map { changes -> JSONValue in
            .record([
                "added": .paths(changes.added),
                "modified": .paths(changes.modified),
                "deleted": .paths(changes.deleted),
                "renamed": .array(
                    entry.renamed.map { .record(["old_path": .path($0.oldPath), "path": .path($0.path)]) }),
            ])
        }
        return .record([
            "id": .id(commit.id),
            "parents": .array(commit.parents.map { .id($0) }),
            "tree": .id(commit.tree),
            "subject": .string(commit.subject),
            "message": .string(commit.message),
            "time_ms": .integer(commit.timeMs),
            "branch_id": .optional(commit.branchID),
            "author": .record(["name": .optional(commit.authorName), "key_id": .optional(commit.authorKeyID)]),
            "signature": .optional(commit.signature?.rawValue),
            "changes": changes ?? .null,
        ])
    }
}

extension JSONValue {
    /// A commit that was just made; null where there is none.
    static func made(_ commit: CommitInfo?, on branch: String) -> JSONValue {
        guard let commit else { return .null }
        return .record([
            "id": .id(commit.id), "parents": .array(commit.parents.map { .id($0) }),
            "message": .string(commit.message), "time_ms": .integer(commit.timeMs), "branch": .string(branch),
        ])
    }
}
