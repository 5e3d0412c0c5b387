package import VaultCrypto

/// The 12 hex digits at the end of an id that stands for a place: 6 bytes, derived or random.
package struct IDTail: Hashable, Sendable {
    package let value: UInt64

    /// The tail that begins a digest.
    package init(digest: [UInt8]) {
        var value: UInt64 = 0
        for index in 0..<6 {
            value = value << 8 | UInt64(index < digest.count ? digest[index] : 0)
        }
        self.value = value
    }

    /// The tail that `utf8` spells; nil unless it is 12 lower-case hex digits.
    package init?(_ utf8: Span<UInt8>) {
        guard utf8.count == 12 else { return nil }
        var value: UInt64 = 0
        for index in utf8.indices {
            guard let digit = Hex.lowerValue(utf8[index]) else { return nil }
            value = value << 4 | UInt64(digit)
        }
        self.value = value
    }

    package var hex: String {
        var output: [UInt8] = []
        for shift in stride(from: UInt64(44), through: 0, by: -4) {
            output.append(Hex.digit(UInt8(truncatingIfNeeded: value >> shift & 15)))
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The tail after `prefix` in `text`; nil when the text has another shape.
    static func parse(_ text: String, after prefix: String) -> IDTail? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return IDTail(Array(text.utf8.dropFirst(prefix.utf8.count)).span)
    }

    static func random(using source: any RandomSource) throws(FormatError) -> IDTail {
        IDTail(digest: try source.formatBytes(6))
    }
}

/// The place of a branch head: `ref-pid-muw-` (named branch) or `ref-pid-snw-` (clone branch) and 12 hex digits.
public struct RefID: Hashable, Sendable, CustomStringConvertible {
    /// Whose head a ref holds.
    public enum Kind: Sendable {
        /// A named branch: several writers.
        case named
        /// A clone branch: one writer.
        case clone
    }

    /// Whose head the ref holds.
    public let kind: Kind
    private let tail: IDTail

    package init(kind: Kind, tail: IDTail) {
        self.kind = kind
        self.tail = tail
    }

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        if let tail = IDTail.parse(text, after: "ref-pid-muw-") {
            self.init(kind: .named, tail: tail)
        } else if let tail = IDTail.parse(text, after: "ref-pid-snw-") {
            self.init(kind: .clone, tail: tail)
        } else {
            throw .malformed("not a ref id")
        }
    }

    /// A new place for a branch other than the two derived ones.
    package static func random(_ kind: Kind, using source: any RandomSource) throws(FormatError) -> RefID {
        RefID(kind: kind, tail: try .random(using: source))
    }

    /// The id as text.
    public var text: String { (kind == .named ? "ref-pid-muw-" : "ref-pid-snw-") + tail.hex }
    /// The id as text.
    public var description: String { text }
}

/// The place of the branch index: `idx-pid-muw-` and 12 hex digits.
public struct IndexID: Hashable, Sendable, CustomStringConvertible {
    private let tail: IDTail

    package init(tail: IDTail) { self.tail = tail }

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        guard let tail = IDTail.parse(text, after: "idx-pid-muw-") else { throw .malformed("not an index id") }
        self.init(tail: tail)
    }

    /// The id as text.
    public var text: String { "idx-pid-muw-" + tail.hex }
    /// The id as text.
    public var description: String { text }
}

/// The place of a cache object: `cch-pid-snw-` or `cch-pid-muw-` and 12 hex digits.
public struct CacheID: Hashable, Sendable, CustomStringConvertible {
    /// Who may write a cache object.
    public enum Mutability: String, Sendable {
        /// One writer.
        case singleWriter = "snw"
        /// Several writers.
        case multiWriter = "muw"
    }

    /// Who may write the object.
    public let mutability: Mutability
    private let tail: IDTail

    package init(mutability: Mutability, tail: IDTail) {
        self.mutability = mutability
        self.tail = tail
    }

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        if let tail = IDTail.parse(text, after: "cch-pid-snw-") {
            self.init(mutability: .singleWriter, tail: tail)
        } else if let tail = IDTail.parse(text, after: "cch-pid-muw-") {
            self.init(mutability: .multiWriter, tail: tail)
        } else {
            throw .malformed("not a cache id")
        }
    }

    /// The id as text.
    public var text: String { "cch-pid-\(mutability.rawValue)-" + tail.hex }
    /// The id as text.
    public var description: String { text }
}
