/// One line of the index about a tag; a deleted tag stays as a tombstone (02-objects §10).
public struct TagEntry: Equatable, Sendable {
    /// The tag's name.
    public var name: String
    /// The tag object; nil when the entry names none.
    public var tagID: ObjectID?
    /// Whether the tag was deleted.
    public var isDeleted: Bool
    /// When the entry was written, milliseconds since 1970 in UTC.
    public var timestampMs: Int64

    /// An entry.
    public init(name: String, tagID: ObjectID?, isDeleted: Bool, timestampMs: Int64) {
        self.name = name
        self.tagID = tagID
        self.isDeleted = isDeleted
        self.timestampMs = timestampMs
    }

    /// The entry as JSON, members in stored order.
    package var json: JSONValue {
        .record([
            "name": .string(name), "tag_id": .optional(tagID?.text), "deleted": .bool(isDeleted),
            "timestamp_ms": .integer(timestampMs),
        ])
    }

    /// Reads an entry; nil when this version cannot read it exactly and so must carry it along unchanged.
    package init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        guard let name = value["name"]?.text, TagName.isStored(name), !TagName.looksLikeObjectID(name) else {
            return nil
        }
        self.init(name: name, tagID: nil, isDeleted: false, timestampMs: 0)
        for member in members {
            switch (member.name, member.value) {
            case ("name", _): continue
            case ("tag_id", .null), ("tag_id", .string("")), ("deleted", .null): continue
            case ("tag_id", .string(let text)):
                guard let id = ObjectID(parsing: Array(text.utf8).span) else { return nil }
                tagID = id
            case ("deleted", .bool(let flag)): isDeleted = flag
            case ("timestamp_ms", .integer(let time)) where time >= 0: timestampMs = time
            default: return nil
            }
        }
    }
}

/// The rules for tag names (02-objects §10).
public enum TagName {
    /// Whether a new tag may have this name.
    public static func isAllowed(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard isStored(text), let first = bytes.first, let last = bytes.last else { return false }
        guard first != 0x2E, first != 0x2F, first != 0x2D, first != 0x5F, last != 0x2F, last != 0x2E else {
            return false
        }
        for (left, right) in zip(bytes, bytes.dropFirst()) where left == right && (left == 0x2E || left == 0x2F) {
            return false
        }
        if bytes.starts(with: "obj-cas-imm-".utf8) { return false }
        if bytes.count >= 7, bytes.allSatisfy({ Hex.value($0) != nil }) { return false }
        return !(bytes.count == 4 && bytes.map { $0 | 0x20 }.elementsEqual("head".utf8))
    }

    /// Whether a stored entry may have this name: `[A-Za-z0-9._/-]{1,100}`.
    public static func isStored(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy { SchemaText.isName($0) || $0 == 0x2E || $0 == 0x2F }
    }

    /// Whether a name matches a shell pattern as a whole; `*` stands for slashes as well.
    package static func matches(_ name: String, pattern: String) -> Bool {
        Glob(pattern.unicodeScalars.map(\.value)).matches(name.unicodeScalars.map(\.value)[...])
    }

    /// Whether a stored name could be mistaken for an object's: `obj-cas-imm-` and lower-case hex digits.
    static func looksLikeObjectID(_ text: String) -> Bool {
        let digits = text.utf8.dropFirst(12)
        return text.utf8.starts(with: "obj-cas-imm-".utf8) && !digits.isEmpty
            && digits.allSatisfy { Hex.lowerValue($0) != nil }
    }
}
