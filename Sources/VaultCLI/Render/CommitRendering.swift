internal import VaultCore
internal import VaultFormat

extension TextRenderer {
    /// A commit with its message.
    func commit(_ commit: CommitInfo) throws {
        try line(try coloured("commit \(commit.id.text)", .id))
        if commit.parents.count > 1 {
            try line("Merge:     " + commit.parents.map { short($0) }.joined(separator: " "))
        }
        if let author = commit.authorName {
            let key = commit.authorKeyID.map { " (\(TextSafety.line($0)))" } ?? ""
            try line("Author:    \(TextSafety.line(author))\(key)")
        }
        try line("Date:      \(time(commit.timeMs))")
        if let signature = commit.signature {
            let tone: Colour.Tone = signature == .verified ? .good : signature == .bad ? .bad : .changed
            try line("Signature: \(try coloured(signature.rawValue, tone))")
        }
        try line("")
        for part in TextSafety.lines(commit.message).split(separator: "\n", omittingEmptySubsequences: false) {
            try line(part.isEmpty ? "" : "    \(part)")
        }
    }

    /// A commit on one line.
    func oneLine(_ commit: CommitInfo) throws {
        let signature = commit.signature.map { " (\($0.rawValue))" } ?? ""
        try line("\(try coloured(short(commit.id), .id))\(signature) \(TextSafety.line(commit.subject))")
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
                "renamed": .array([]),
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
