/// One line of a folder: a name and what it stands for (02-objects §4).
package struct TreeEntry: Equatable, Sendable {
    /// What a name stands for.
    package enum Target: Equatable, Sendable {
        case file(FileEntry)
        /// The folder's own tree object.
        case folder(ObjectID)
    }

    /// One path segment, as read: it may hold `/` or be `..` when the tree was made by an enemy.
    package var name: [UInt8]
    package var target: Target

    package init(name: [UInt8], target: Target) {
        self.name = name
        self.target = target
    }

    /// The file, if the entry is one.
    package var file: FileEntry? {
        if case .file(let file) = target { file } else { nil }
    }

    /// The folder's tree, if the entry is one.
    package var folder: ObjectID? {
        if case .folder(let id) = target { id } else { nil }
    }

    /// Whether the entry stands before `other` in a tree: files first, then by bytes.
    package func precedes(_ other: TreeEntry) -> Bool {
        switch (target, other.target) {
        case (.file, .folder): true
        case (.folder, .file): false
        default: name.lexicographicallyPrecedes(other.name)
        }
    }
}

/// What a tree says about a file.
package struct FileEntry: Equatable, Sendable {
    /// The object that holds the content.
    package var blobID: ObjectID
    /// Bytes of the content.
    package var size: Int64
    /// Nil when the entry has none, or something that is not 12 hex digits.
    package var contentHash: ContentHash?
    /// A MIME type; filled in from the name on writing when it is empty.
    package var contentType: String
    /// Whether the stored ciphertext is larger than 4 MiB, which decides how it travels.
    package var isLarge: Bool

    package init(
        blobID: ObjectID, size: Int64, contentHash: ContentHash?, contentType: String, isLarge: Bool = false
    ) {
        self.blobID = blobID
        self.size = size
        self.contentHash = contentHash
        self.contentType = contentType
        self.isLarge = isLarge
    }
}
