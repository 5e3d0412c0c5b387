public import VaultFormat

/// What `Vault.diff` compares, and how far it looks.
public struct DiffOptions: Sendable {
    /// Two states of the files.
    public enum Subject: Sendable, Equatable {
        /// The head against the working copy.
        case workingCopy
        /// A revision against the working copy; `A..B` compares A with B, `A...B` their merge base with B, a side that is
        /// left out being the head.
        case since(String)
        /// One revision against another.
        case revisions(String, String)
        /// The head of a remote's branch, as this clone last saw it, against the working copy.
        case remote(String)
        /// A commit against its first parent; the first commit against nothing.
        case commit(String)
    }

    /// How far a comparison looks.
    public enum Detail: Sendable {
        /// Which files differ; content is read only where nothing else tells.
        case names
        /// Also the content of both sides: sizes, hashes and the lines that differ.
        case content
    }

    /// What is compared.
    public var subject: Subject
    /// Only files at or below these; empty means all.
    public var paths: [VaultPath]
    /// How far to look.
    public var detail: Detail
    /// Equal lines told before and behind each difference.
    public var context: Int
    /// Texts with more bytes than this, or with very many lines, are not compared line by line.
    public var textLimit: Int

    /// Eight mebibytes.
    public static let defaultTextLimit = 8 << 20

    /// Makes one from its parts.
    public init(
        subject: Subject = .workingCopy, paths: [VaultPath] = [], detail: Detail = .content,
        context: Int = 3, textLimit: Int = DiffOptions.defaultTextLimit
    ) {
        self.subject = subject
        self.paths = paths
        self.detail = detail
        self.context = context
        self.textLimit = textLimit
    }
}

/// One file that differs.
public struct FileDiff: Sendable, Equatable {
    /// How a file differs.
    public enum Status: String, Sendable {
        /// It is new.
        case added
        /// It has other content.
        case modified
        /// It is gone.
        case deleted
        /// A file with the same content is gone under another name.
        case renamed
    }

    /// One of the two files.
    public struct Side: Sendable, Equatable {
        /// Bytes of the content.
        public var size: Int64
        /// Lower-case hex of the content's SHA-256; nil when the content was not read.
        public var sha256: String?
    }

    /// What the comparison of the contents gave.
    public enum Content: Sendable, Equatable {
        /// They were not compared.
        case notRead
        /// Both are text; without hunks they are equal, or one of them is empty and the other is not there.
        case text([DiffHunk])
        /// One of them is not text: not valid UTF-8, or with a NUL in it.
        case binary
        /// Text that is too large to be compared line by line.
        case tooLarge
    }

    /// The path, of a deleted file the one it had.
    public var path: VaultPath
    /// The path before, for a renamed file.
    public var oldPath: VaultPath?
    /// How it differs.
    public var status: Status
    /// The file before; nil for one that is new.
    public var before: Side?
    /// The file after; nil for one that is gone.
    public var after: Side?
    /// The contents.
    public var content: Content

    /// The number of lines that only the new file has; nil where lines were not compared.
    public var linesAdded: Int? { count(.added) }
    /// The number of lines that only the old file has; nil where lines were not compared.
    public var linesRemoved: Int? { count(.removed) }

    private func count(_ kind: DiffLine.Kind) -> Int? {
        guard case .text(let hunks) = content else { return nil }
        return hunks.reduce(0) { $0 + $1.lines.count { $0.kind == kind } }
    }
}

/// A run of lines around a difference.
public struct DiffHunk: Sendable, Equatable {
    /// The first of its lines in the old text, counted from 0.
    public var oldStart: Int
    /// How many lines of the old text it covers.
    public var oldCount: Int
    /// The first of its lines in the new text, counted from 0.
    public var newStart: Int
    /// How many lines of the new text it covers.
    public var newCount: Int
    /// The lines, in the order of a patch.
    public var lines: [DiffLine]
}

/// One line of a hunk.
public struct DiffLine: Sendable, Equatable {
    /// Which of the texts has the line.
    public enum Kind: Sendable {
        /// Both.
        case context
        /// Only the old one.
        case removed
        /// Only the new one.
        case added
    }

    /// Which of the texts has the line.
    public var kind: Kind
    /// The line with its line feed, which only the last line of a text can lack.
    public var bytes: ArraySlice<UInt8>

    /// Whether the line ends in a line feed.
    public var hasLineFeed: Bool { bytes.last == 0x0A }
}

/// The two states that a diff compared.
public struct DiffEnds: Sendable, Equatable {
    /// The commit before; nil where there is none.
    public var from: ObjectID?
    /// The commit after; nil for the working copy.
    public var to: ObjectID?
}
