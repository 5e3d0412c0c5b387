/// How many hex digits the id of a new object has (01-keys-and-crypto §6).
public enum IDWidth: Sendable {
    /// 12 digits: format 1.
    case short
    /// 32 digits: format 2.
    case long

    package var digits: Int { self == .short ? 12 : 32 }
}

/// The name of a stored object: `obj-cas-imm-` and 12 or 32 hex digits of the SHA-256 of its ciphertext.
///
/// Ids order as their texts do.
public struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    /// The first 16 digits, or 12 and zeros.
    private let high: UInt64
    /// The last 16 digits of a long id.
    private let low: UInt64
    package let width: IDWidth

    /// What every id begins with.
    package static let prefix: StaticString = "obj-cas-imm-"
    private static let prefixLength = 12

    /// Checks `text`, which must be exactly an id in lower case.
    public init(_ text: String) throws(FormatError) {
        try self.init(utf8: Array(text.utf8).span)
    }

    /// Checks `utf8`, which must be exactly an id in lower case.
    package init(utf8: Span<UInt8>) throws(FormatError) {
        guard let id = ObjectID(parsing: utf8) else { throw .malformed("not an object id") }
        self = id
    }

    /// The same without an error value: nil when `utf8` is no id.
    package init?(parsing utf8: Span<UInt8>) {
        switch utf8.count - Self.prefixLength {
        case 12: width = .short
        case 32: width = .long
        default: return nil
        }
        guard Self.hasPrefix(utf8) else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for index in Self.prefixLength..<utf8.count {
            guard let digit = Hex.lowerValue(utf8[index]) else { return nil }
            if index < Self.prefixLength + 16 {
                high = high << 4 | UInt64(digit)
            } else {
                low = low << 4 | UInt64(digit)
            }
        }
        self.high = width == .short ? high << 16 : high
        self.low = low
    }

    /// Checks `text` as the reference's readers do: white space around it and upper case are accepted.
    package init(lenient text: String) throws(FormatError) {
        try self.init(UTF8Text.normalisedIdentifier(text))
    }

    /// The id of an object whose ciphertext has this SHA-256 digest.
    package init(digest: [UInt8], width: IDWidth) {
        var values: (UInt64, UInt64) = (0, 0)
        for index in 0..<16 {
            let byte = UInt64(index < digest.count ? digest[index] : 0)
            if index < 8 { values.0 = values.0 << 8 | byte } else { values.1 = values.1 << 8 | byte }
        }
        self.width = width
        high = width == .short ? values.0 & ~0xFFFF : values.0
        low = width == .short ? 0 : values.1
    }

    /// Whether the id is the one of an object with this SHA-256 digest, at the id's own width.
    package func matches(digest: [UInt8]) -> Bool {
        digest.count == 32 && self == ObjectID(digest: digest, width: width)
    }

    private static func hasPrefix(_ utf8: Span<UInt8>) -> Bool {
        // "obj-cas-imm-", compared without making a string: decoding trees comes here for every entry.
        let head: [12 of UInt8] = [0x6F, 0x62, 0x6A, 0x2D, 0x63, 0x61, 0x73, 0x2D, 0x69, 0x6D, 0x6D, 0x2D]
        for index in 0..<prefixLength where utf8[index] != head[index] { return false }
        return true
    }

    /// The id as two numbers, for compact storage beside its width.
    package var rawValues: (high: UInt64, low: UInt64) { (high, low) }

    /// The id that `rawValues` gave.
    package init(high: UInt64, low: UInt64, width: IDWidth) {
        self.width = width
        self.high = width == .short ? high & ~0xFFFF : high
        self.low = width == .short ? 0 : low
    }

    /// The whole id as text.
    public var text: String { String(decoding: utf8, as: UTF8.self) }

    /// The hex digits of the id.
    public var hex: String { String(decoding: utf8[Self.prefixLength...], as: UTF8.self) }

    /// The whole id as text.
    public var description: String { text }

    package var utf8: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(Self.prefixLength + width.digits)
        append(to: &output)
        return output
    }

    /// Appends the id's text.
    package func append(to output: inout [UInt8]) {
        output.append(contentsOf: [0x6F, 0x62, 0x6A, 0x2D, 0x63, 0x61, 0x73, 0x2D, 0x69, 0x6D, 0x6D, 0x2D])
        for index in 0..<width.digits {
            let word = index < 16 ? high : low
            output.append(Hex.digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - (index & 15) * 4) & 15)))
        }
    }
}

extension ObjectID: Comparable {
    /// Compares the texts of the ids.
    public static func < (lhs: ObjectID, rhs: ObjectID) -> Bool {
        if lhs.high != rhs.high { return lhs.high < rhs.high }
        if lhs.low != rhs.low { return lhs.low < rhs.low }
        return lhs.width == .short && rhs.width == .long
    }
}
