public import VaultFormat

/// Which commits `Vault.log` gives; a commit is given when every condition holds.
public struct LogOptions: Sendable {
    /// Commits by how many parents they have.
    public enum Merges: Sendable {
        /// All commits.
        case included
        /// Only commits with more than one parent.
        case only
        /// Only commits with at most one parent.
        case excluded
    }

    /// Where to start, or `A..B`; nil means the head.
    public var revision: String?
    /// Only commits that change something at or below these paths.
    public var paths: [VaultPath]
    /// At most this many commits.
    public var limit: Int?
    /// Follow the first parent only.
    public var firstParent: Bool
    /// Oldest first.
    public var reverse: Bool
    /// Only commits in whose message this regular expression is found; `^` and `$` are the ends of a line.
    public var messagePattern: String?
    /// Only commits whose branch name, branch id or key id holds this text.
    public var author: String?
    /// Letters of `messagePattern` and `author` stand for both cases.
    public var ignoresCase: Bool
    /// Only commits made at this moment or later, milliseconds since 1970.
    public var sinceMs: Int64?
    /// Only commits made at this moment or earlier, milliseconds since 1970.
    public var untilMs: Int64?
    /// Merges.
    public var merges: Merges
    /// Fill `CommitInfo.signature`.
    public var checkSignatures: Bool
    /// Fill `LogEntry.changes` and `LogEntry.renamed`.
    public var includeChanges: Bool
    /// Fill `LogEntry.graph`; not with `reverse`.
    public var includeGraph: Bool

    /// Makes one from its parts.
    public init(
        revision: String? = nil, paths: [VaultPath] = [], limit: Int? = nil, firstParent: Bool = false,
        reverse: Bool = false, messagePattern: String? = nil, author: String? = nil, ignoresCase: Bool = false,
        sinceMs: Int64? = nil, untilMs: Int64? = nil, merges: Merges = .included, checkSignatures: Bool = false,
        includeChanges: Bool = false, includeGraph: Bool = false
    ) {
        self.revision = revision
        self.paths = paths
        self.limit = limit
        self.firstParent = firstParent
        self.reverse = reverse
        self.messagePattern = messagePattern
        self.author = author
        self.ignoresCase = ignoresCase
        self.sinceMs = sinceMs
        self.untilMs = untilMs
        self.merges = merges
        self.checkSignatures = checkSignatures
        self.includeChanges = includeChanges
        self.includeGraph = includeGraph
    }
}

/// A file that has another name since a commit, with the same content.
public struct RenamedFile: Sendable, Equatable {
    /// The path before.
    public var oldPath: VaultPath
    /// The path after.
    public var path: VaultPath
}

/// One commit of a log.
public struct LogEntry: Sendable {
    /// The commit.
    public var commit: CommitInfo
    /// Against the first parent, renamed files left out; nil unless asked for.
    public var changes: Changes?
    /// Files that were renamed since the first parent; empty unless asked for.
    public var renamed: [RenamedFile] = []
    /// The lines that lead to and from the commit; nil unless asked for.
    public var graph: LogGraph?
    let comparer: FileComparer

    /// Gives what the commit changed against its first parent, until `body` returns false.
    ///
    /// * `options`: Their subject does not matter.
    /// - Throws: `objectMissing`, `objectCorrupt`, and what `body` throws.
    public func files(_ options: DiffOptions = DiffOptions(), _ body: (FileDiff) throws -> Bool) throws {
        try comparer.compare(comparer.items(of: commit.id, below: options.paths), options, body)
    }

    /// Refuses where `files` would need contents that are not here; `Vault.completing` fetches them.
    ///
    /// - Throws: `objectMissing`.
    public func requireFiles(_ options: DiffOptions = DiffOptions()) throws {
        try comparer.require(comparer.items(of: commit.id, below: options.paths))
    }
}

/// How the lines between commits are drawn beside one of them.
public struct LogGraph: Sendable, Equatable {
    /// Lines to print ahead of the commit.
    public var before: [String] = []
    /// What stands left of the commit's first line.
    public var commit = ""
    /// What stands left of the lines that follow; what is left when the text ends is printed alone.
    public var after: [String] = []
    /// What stands left of all further lines.
    public var padding = ""
    /// Columns that text of this commit begins behind.
    public var width = 0
}

/// A tag with what its signature is worth.
public struct TagInfo: Sendable, Equatable {
    /// The name.
    public var name: String
    /// The tag object.
    public var id: ObjectID
    /// The commit it names.
    public var target: ObjectID
    /// What whoever made it wrote; empty when there is nothing.
    public var message: String
    /// Milliseconds since 1970; nil when the tag does not say.
    public var timeMs: Int64?
    /// The name of the branch that made it, when the index knows it.
    public var taggerName: String?
    /// The key that signed it.
    public var taggerKeyID: String?
    /// What checking the signature gave.
    public var signature: SignatureStatus
}

/// The answer of `Vault.show`.
public enum ShowResult: Sendable {
    /// A commit; what it changed is given by `LogEntry.files`.
    case commit(LogEntry)
    /// A tag and its commit.
    case tag(TagInfo, LogEntry)
    /// The revision named a file or folder (`REV:PATH`); its bytes or listing are read with `read`/`list`.
    case file(VaultPath, commit: ObjectID)
    /// The revision named a folder, or the root.
    case folder(VaultPath?, commit: ObjectID)
}

/// One entry of `Vault.list`.
public struct ListEntry: Sendable, Equatable {
    /// What an entry is.
    public enum Kind: String, Sendable {
        /// A file.
        case file
        /// A folder.
        case folder
    }
    /// The path from the vault root.
    public var path: VaultPath
    /// File or folder.
    public var kind: Kind
    /// Plaintext bytes; nil for a folder.
    public var size: Int64?
    /// The blob of a file, the tree of a folder.
    public var objectID: ObjectID
    /// The recorded MIME type; nil for a folder.
    public var contentType: String?
    /// The object is held in this clone.
    public var isLocal: Bool
    /// The stored blob is larger than 4 MiB.
    public var isLarge: Bool
}

/// What `Vault.read` tells of the file it gave.
public struct FileInfo: Sendable, Equatable {
    /// The path from the vault root.
    public var path: VaultPath
    /// The stored blob.
    public var blobID: ObjectID
    /// Plaintext bytes.
    public var size: Int64
    /// The recorded MIME type.
    public var contentType: String
    /// Lower-case hex of the plaintext's SHA-256.
    public var sha256: String
}
