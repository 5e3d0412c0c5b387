/// The content hash of a file: the first 12 hex digits of the SHA-256 of its bytes (01-keys-and-crypto §6).
package struct ContentHash: Hashable, Sendable {
    private let value: UInt64

    /// The 48 bits as a number, for compact storage.
    package var rawValue: UInt64 { value }

    /// The hash that `rawValue` gave.
    package init(rawValue: UInt64) { value = rawValue & 0xFFFF_FFFF_FFFF }

    /// The hash for a SHA-256 digest.
    package init(digest: [UInt8]) {
        var value: UInt64 = 0
        for index in 0..<6 {
            value = value << 8 | UInt64(index < digest.count ? digest[index] : 0)
        }
        self.value = value
    }

    /// The hash that 12 lower-case hex digits spell.
    package init(hex: String) throws(FormatError) {
        guard let hash = ContentHash(parsing: Array(hex.utf8).span) else { throw .malformed("not a content hash") }
        self = hash
    }

    /// The hash that 12 lower-case hex digits spell; nil when `utf8` is something else.
    package init?(parsing utf8: Span<UInt8>) {
        guard utf8.count == 12 else { return nil }
        var value: UInt64 = 0
        for index in utf8.indices {
            guard let digit = Hex.lowerValue(utf8[index]) else { return nil }
            value = value << 4 | UInt64(digit)
        }
        self.value = value
    }

    /// 12 lower-case hex digits.
    package var hex: String { String(decoding: utf8, as: UTF8.self) }

    package var utf8: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(12)
        for shift in stride(from: UInt64(44), through: 0, by: -4) {
            output.append(Hex.digit(UInt8(truncatingIfNeeded: value >> shift & 15)))
        }
        return output
    }
}
