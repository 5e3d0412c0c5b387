/// A cursor over a span of bytes that cannot leave it.
///
/// The span is passed to every call instead of being stored, so a reader can live in any value. Integers are little-endian.
package struct ByteReader: Sendable {
    /// Offset of the next byte.
    package private(set) var position: Int
    /// Offset one past the last readable byte.
    package let end: Int

    /// A reader over `bytes[start..<end]`, cut to what there is.
    package init(_ bytes: Span<UInt8>, from start: Int = 0, to end: Int? = nil) {
        let limit = min(max(end ?? bytes.count, 0), bytes.count)
        self.end = limit
        self.position = min(max(start, 0), limit)
    }

    /// Bytes that are left.
    package var remaining: Int { end - position }

    /// Moves to `offset`.
    package mutating func seek(to offset: Int) throws(FormatError) {
        guard offset >= 0, offset <= end else { throw .malformed("offset outside the data") }
        position = offset
    }

    /// Steps over `count` bytes and returns where they are.
    package mutating func take(_ count: Int) throws(FormatError) -> Range<Int> {
        guard count >= 0, count <= remaining else { throw .malformed("data ends too early") }
        defer { position += count }
        return position..<(position + count)
    }

    /// The next 2 bytes.
    package mutating func uint16(_ bytes: Span<UInt8>) throws(FormatError) -> UInt16 {
        UInt16(truncatingIfNeeded: try integer(bytes, count: 2))
    }

    /// The next 4 bytes.
    package mutating func uint32(_ bytes: Span<UInt8>) throws(FormatError) -> UInt32 {
        UInt32(truncatingIfNeeded: try integer(bytes, count: 4))
    }

    /// The next 8 bytes.
    package mutating func uint64(_ bytes: Span<UInt8>) throws(FormatError) -> UInt64 {
        try integer(bytes, count: 8)
    }

    private mutating func integer(_ bytes: Span<UInt8>, count: Int) throws(FormatError) -> UInt64 {
        let range = try take(count)
        guard range.upperBound <= bytes.count else { throw .malformed("data ends too early") }
        var value: UInt64 = 0
        for offset in range.reversed() {
            value = value << 8 | UInt64(bytes[offset])
        }
        return value
    }
}
