/// Writes tree plaintext straight into bytes: a folder may have 10,000 entries and each has four sealed texts.
struct TreeEncoder {
    private let cipher: VaultCipher
    private var output: [UInt8] = []
    /// Sealed content types and sizes: few differ, and sealing is deterministic.
    private var sealedTypes: [String: [UInt8]] = [:]

    init(cipher: VaultCipher) {
        self.cipher = cipher
    }

    mutating func plaintext(of entries: [TreeEntry]) throws(FormatError) -> [UInt8] {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { !$1.precedes($0) }
        let sorted = isSorted ? entries : entries.sorted { $0.precedes($1) }
        try Self.checkNames(sorted)
        output.reserveCapacity(64 + entries.count * 448)
        output.append(contentsOf: TreeSpelling.head)
        for (index, entry) in sorted.enumerated() {
            if index > 0 { output.append(contentsOf: TreeSpelling.separator) }
            switch entry.target {
            case .file(let file): try append(file, name: entry.name)
            case .folder(let id): try append(folder: id, name: entry.name)
            }
        }
        output.append(contentsOf: TreeSpelling.foot)
        return output
    }

    private mutating func append(_ file: FileEntry, name: [UInt8]) throws(FormatError) {
        guard file.size >= 0 else { throw .malformed("a file size is negative") }
        output.append(contentsOf: TreeSpelling.blobID)
        file.blobID.append(to: &output)
        output.append(contentsOf: TreeSpelling.fileName)
        try appendSealed(name)
        output.append(contentsOf: TreeSpelling.size)
        try appendSealed(Array(String(file.size).utf8))
        output.append(contentsOf: TreeSpelling.contentHash)
        try appendSealed(file.contentHash?.utf8 ?? [])
        output.append(contentsOf: TreeSpelling.contentType)
        try appendType(file.contentType.isEmpty ? ContentType.guess(name: name) : file.contentType)
        output.append(contentsOf: file.isLarge ? TreeSpelling.large : TreeSpelling.notLarge)
    }

    private mutating func append(folder id: ObjectID, name: [UInt8]) throws(FormatError) {
        output.append(contentsOf: TreeSpelling.treeID)
        id.append(to: &output)
        output.append(contentsOf: TreeSpelling.folderName)
        try appendSealed(name)
        output.append(contentsOf: TreeSpelling.folderRest)
    }

    private mutating func appendSealed(_ text: [UInt8]) throws(FormatError) {
        guard text.count <= Limits.metadataText else { throw .limit("a name is longer than 740 bytes") }
        let sealed = try cipher.sealDeterministic(text.span)
        Base64.append(sealed.span, to: &output)
    }

    private mutating func appendType(_ type: String) throws(FormatError) {
        if let known = sealedTypes[type] {
            output.append(contentsOf: known)
            return
        }
        let start = output.count
        try appendSealed(Array(type.utf8))
        sealedTypes[type] = Array(output[start...])
    }

    /// Refuses names that can not stand in a folder, and one name for two things.
    ///
    /// Files come first and both kinds are in order, so equal names are neighbours or stand at the same place of the
    /// two runs.
    private static func checkNames(_ sorted: [TreeEntry]) throws(FormatError) {
        let firstFolder = sorted.firstIndex { $0.folder != nil } ?? sorted.count
        var file = 0
        for (index, entry) in sorted.enumerated() {
            guard !entry.name.isEmpty, !entry.name.contains(0x2F), UTF8Text.isValid(entry.name.span) else {
                throw .malformed("a name is empty, holds a slash or is not UTF-8")
            }
            var isTaken = index > 0 && index != firstFolder && sorted[index - 1].name == entry.name
            if index >= firstFolder {
                while file < firstFolder, sorted[file].name.lexicographicallyPrecedes(entry.name) { file += 1 }
                if file < firstFolder, sorted[file].name == entry.name { isTaken = true }
            }
            guard !isTaken else { throw .malformed("two entries have the same name") }
        }
    }
}

/// The fixed parts of tree plaintext, exactly as the reference spells them.
enum TreeSpelling {
    static let head = Array("{\"schema\": \"tree_v1\", \"entries\": [".utf8)
    static let foot = Array("]}".utf8)
    static let separator = Array(", ".utf8)
    static let blobID = Array("{\"blob_id\": \"".utf8)
    static let fileName = Array("\", \"tree_id\": null, \"name_enc\": \"".utf8)
    static let size = Array("\", \"size_enc\": \"".utf8)
    static let contentHash = Array("\", \"content_hash_enc\": \"".utf8)
    static let contentType = Array("\", \"content_type_enc\": \"".utf8)
    static let large = Array("\", \"large\": true}".utf8)
    static let notLarge = Array("\", \"large\": false}".utf8)
    static let treeID = Array("{\"blob_id\": null, \"tree_id\": \"".utf8)
    static let folderName = Array("\", \"name_enc\": \"".utf8)
    static let folderRest = Array(
        "\", \"size_enc\": null, \"content_hash_enc\": null, \"content_type_enc\": null, \"large\": false}".utf8)
}
