package import VaultCrypto

/// The name of a public key: `key-rnd-imm-` and 16 random hex digits (8–64 are read).
public struct KeyID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        guard RandomID.isValid(text, prefix: "key-rnd-imm-") else { throw .malformed("not a key id") }
        self.text = text
    }

    /// A new id.
    package static func random(using source: any RandomSource) throws(FormatError) -> KeyID {
        try KeyID("key-rnd-imm-" + RandomID.digits(using: source))
    }

    /// The id as text.
    public var description: String { text }
}

/// The name of a branch record: `branch-named-` or `branch-clone-` and 16 random hex digits (8–64 are read).
public struct BranchID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        guard
            RandomID.isValid(text, prefix: "branch-named-") || RandomID.isValid(text, prefix: "branch-clone-")
        else { throw .malformed("not a branch id") }
        self.text = text
    }

    /// Checks `text` as the reference's readers do: white space around it and upper case are accepted.
    package init(lenient text: String) throws(FormatError) {
        try self.init(UTF8Text.normalisedIdentifier(text))
    }

    /// A new id for a named branch.
    package static func randomNamed(using source: any RandomSource) throws(FormatError) -> BranchID {
        try BranchID("branch-named-" + RandomID.digits(using: source))
    }

    /// A new id for a clone branch.
    package static func randomClone(using source: any RandomSource) throws(FormatError) -> BranchID {
        try BranchID("branch-clone-" + RandomID.digits(using: source))
    }

    /// Whether the branch is a named one.
    public var isNamed: Bool { text.utf8.starts(with: "branch-named-".utf8) }
    /// Whether the branch belongs to one working clone.
    public var isClone: Bool { !isNamed }
    /// The id as text.
    public var description: String { text }
}

/// The shape shared by ids with random digits.
enum RandomID {
    static func isValid(_ text: String, prefix: String) -> Bool {
        guard text.utf8.starts(with: prefix.utf8) else { return false }
        let digits = text.utf8.dropFirst(prefix.utf8.count)
        return (8...64).contains(digits.count) && digits.allSatisfy { Hex.lowerValue($0) != nil }
    }

    static func digits(using source: any RandomSource) throws(FormatError) -> String {
        let bytes = try source.formatBytes(8)
        return Hex.text(bytes.span)
    }
}
