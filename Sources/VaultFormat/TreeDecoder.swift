/// Reads tree plaintext: a scanner for the exact spelling of the reference, the general JSON reader for any other.
struct TreeDecoder {
    private let cipher: VaultCipher
    private var entries: [TreeEntry] = []
    private var places: [[UInt8]: Int] = [:]
    /// Content types by their sealed text: few differ.
    private var types: [[UInt8]: String] = [:]
    private var sealed: [UInt8] = []
    private var position = 0

    init(cipher: VaultCipher) {
        self.cipher = cipher
    }

    mutating func entries(of plaintext: Span<UInt8>) throws(FormatError) -> [TreeEntry] {
        if try scan(plaintext) { return entries }
        entries.removeAll()
        places.removeAll()
        try read(JSONReader.parse(plaintext))
        return entries
    }

    /// Of two entries with one name the later stands.
    private mutating func add(_ name: [UInt8], _ target: TreeEntry.Target) {
        let entry = TreeEntry(name: name, target: target)
        if let place = places[name] {
            entries[place] = entry
        } else {
            places[name] = entries.count
            entries.append(entry)
        }
    }

    private mutating func open(_ base64: Span<UInt8>) throws(FormatError) -> [UInt8] {
        guard base64.count <= Limits.metadataEncoded else { throw .limit("an encrypted text is too long") }
        guard Base64.decode(base64, into: &sealed) else { throw .malformed("an encrypted text is not base64") }
        return try cipher.openSealed(sealed.span)
    }

    private mutating func type(_ base64: Span<UInt8>) throws(FormatError) -> String {
        let key = base64.array()
        if let known = types[key] { return known }
        let text = String(decoding: try open(base64), as: UTF8.self)
        types[key] = text
        return text
    }

    private mutating func size(_ base64: Span<UInt8>) throws(FormatError) -> Int64 {
        let digits = try open(base64)
        guard (1...19).contains(digits.count) else { throw .malformed("a file size is not a number") }
        var value: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { throw .malformed("a file size is not a number") }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int64(digit - 0x30))
            guard !overflowed, !carried else { throw .malformed("a file size is out of range") }
            value = sum
        }
        return value
    }

    private mutating func hash(_ base64: Span<UInt8>) throws(FormatError) -> ContentHash? {
        let text = try open(base64)
        return ContentHash(parsing: text.span)
    }
}

// MARK: - The exact spelling

extension TreeDecoder {
    /// Reads `input` if it is spelled as the reference does; false when it is not, in whole or in part.
    private mutating func scan(_ input: Span<UInt8>) throws(FormatError) -> Bool {
        position = 0
        guard skip(TreeSpelling.head, input) else { return false }
        entries.reserveCapacity(input.count / 400)
        places.reserveCapacity(input.count / 400)
        if skip(TreeSpelling.foot, input) { return position == input.count }
        while true {
            guard try scanEntry(input) else { return false }
            if skip(TreeSpelling.separator, input) { continue }
            return skip(TreeSpelling.foot, input) && position == input.count
        }
    }

    private mutating func scanEntry(_ input: Span<UInt8>) throws(FormatError) -> Bool {
        if skip(TreeSpelling.blobID, input) {
            guard let blob = text(input), let blobID = ObjectID(parsing: input.extracting(blob)),
                skip(TreeSpelling.fileName, input), let name = text(input),
                skip(TreeSpelling.size, input), let size = text(input),
                skip(TreeSpelling.contentHash, input), let hash = text(input),
                skip(TreeSpelling.contentType, input), let type = text(input)
            else { return false }
            let isLarge = skip(TreeSpelling.large, input)
            guard isLarge || skip(TreeSpelling.notLarge, input) else { return false }
            guard !name.isEmpty, !size.isEmpty, !hash.isEmpty, !type.isEmpty else { return false }
            let nameBytes = try open(input.extracting(name))
            guard !nameBytes.isEmpty else { return true }
            let file = FileEntry(
                blobID: blobID, size: try self.size(input.extracting(size)),
                contentHash: try self.hash(input.extracting(hash)),
                contentType: try self.type(input.extracting(type)), isLarge: isLarge)
            add(nameBytes, .file(file))
            return true
        }
        guard skip(TreeSpelling.treeID, input), let tree = text(input),
            let treeID = ObjectID(parsing: input.extracting(tree)),
            skip(TreeSpelling.folderName, input), let name = text(input), !name.isEmpty,
            skip(TreeSpelling.folderRest, input)
        else { return false }
        let nameBytes = try open(input.extracting(name))
        if !nameBytes.isEmpty { add(nameBytes, .folder(treeID)) }
        return true
    }

    /// Steps over `expected`; false, without moving, when something else stands there.
    private mutating func skip(_ expected: [UInt8], _ input: Span<UInt8>) -> Bool {
        guard input.count - position >= expected.count else { return false }
        for index in expected.indices where input[position + index] != expected[index] { return false }
        position += expected.count
        return true
    }

    /// The characters up to the next quote; nil when an escape or the end comes first.
    private mutating func text(_ input: Span<UInt8>) -> Range<Int>? {
        let start = position
        while position < input.count {
            switch input[position] {
            case 0x22: return start..<position
            case 0x5C, ..<0x20, 0x80...: return nil
            default: position += 1
            }
        }
        return nil
    }
}

// MARK: - Any JSON

extension TreeDecoder {
    private mutating func read(_ value: JSONValue) throws(FormatError) {
        guard let items = value["entries"]?.items else { throw .malformed("a tree without a list of entries") }
        for item in items {
            guard case .object = item else { throw .malformed("a tree entry is not an object") }
            try readEntry(item)
        }
    }

    private mutating func readEntry(_ item: JSONValue) throws(FormatError) {
        let blobID = try Self.id(item["blob_id"])
        let treeID = try Self.id(item["tree_id"])
        guard let sealedName = try Self.text(item["name_enc"]) else { return }
        let name = try open(Array(sealedName.utf8).span)
        guard !name.isEmpty else { return }
        if let blobID {
            let size = try Self.text(item["size_enc"]).map(Self.bytes)
            let hash = try Self.text(item["content_hash_enc"]).map(Self.bytes)
            let type = try Self.text(item["content_type_enc"]).map(Self.bytes)
            var file = FileEntry(blobID: blobID, size: 0, contentHash: nil, contentType: "")
            if let size { file.size = try self.size(size.span) }
            if let hash { file.contentHash = try self.hash(hash.span) }
            if let type { file.contentType = try self.type(type.span) }
            file.isLarge = Self.truth(item["large"])
            add(name, .file(file))
        } else if let treeID {
            add(name, .folder(treeID))
        }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// An id, or nothing; what is neither rejects the whole tree.
    private static func id(_ value: JSONValue?) throws(FormatError) -> ObjectID? {
        guard let text = try text(value) else { return nil }
        return try ObjectID(text)
    }

    private static func text(_ value: JSONValue?) throws(FormatError) -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let text): return text.isEmpty ? nil : text
        default: throw .malformed("a member of a tree entry has the wrong type")
        }
    }

    /// How the reference's fast reader takes `large`: as Python takes any value for a condition.
    private static func truth(_ value: JSONValue?) -> Bool {
        switch value {
        case nil, .null, .bool(false), .integer(0): false
        case .string(let text): !text.isEmpty
        case .array(let items): !items.isEmpty
        case .object(let members): !members.isEmpty
        default: true
        }
    }
}
