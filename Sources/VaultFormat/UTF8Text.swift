/// UTF-8 on bytes: validation, code points, and the white space that Python's `str.strip` removes.
package enum UTF8Text {
    /// The text that `bytes` are; nil when they are not UTF-8.
    package static func validated(_ bytes: Span<UInt8>) -> String? {
        guard isValid(bytes) else { return nil }
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in bytes.indices { copy.append(bytes[index]) }
        return String(decoding: copy, as: UTF8.self)
    }

    /// Whether `bytes` are UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
    package static func isValid(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            if bytes[index] < 0x80 {
                index += 1
                continue
            }
            guard let (_, length) = decode(bytes, at: index) else { return false }
            index += length
        }
        return true
    }

    /// The code point at `index` and its length in bytes; nil when there is none.
    package static func decode(_ bytes: Span<UInt8>, at index: Int) -> (scalar: UInt32, length: Int)? {
        guard index >= 0, index < bytes.count else { return nil }
        let first = UInt32(bytes[index])
        if first < 0x80 { return (first, 1) }
        let length: Int
        var value: UInt32
        let minimum: UInt32
        switch first {
        case 0xC2...0xDF: (length, value, minimum) = (2, first & 0x1F, 0x80)
        case 0xE0...0xEF: (length, value, minimum) = (3, first & 0x0F, 0x800)
        case 0xF0...0xF4: (length, value, minimum) = (4, first & 0x07, 0x10000)
        default: return nil
        }
        guard bytes.count - index >= length else { return nil }
        for offset in 1..<length {
            let next = UInt32(bytes[index + offset])
            guard next & 0xC0 == 0x80 else { return nil }
            value = value << 6 | next & 0x3F
        }
        guard value >= minimum, value <= 0x10FFFF, !(0xD800..<0xE000).contains(value) else { return nil }
        return (value, length)
    }

    /// Appends a code point; U+FFFD in place of what is none.
    package static func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
        let scalar = Unicode.Scalar(scalar) ?? "\u{FFFD}"
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { bytes.append(unit) }
    }

    /// The code points of `bytes`; bytes that are not UTF-8 stand for themselves, above U+10FFFF.
    package static func scalars(_ bytes: Span<UInt8>) -> [UInt32] {
        var result: [UInt32] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if let (scalar, length) = decode(bytes, at: index) {
                result.append(scalar)
                index += length
            } else {
                result.append(0x11_0000 + UInt32(bytes[index]))
                index += 1
            }
        }
        return result
    }

    /// Where the text without white space at both ends lies.
    package static func stripped(_ bytes: Span<UInt8>) -> Range<Int> {
        var start = 0
        while start < bytes.count, let (scalar, length) = decode(bytes, at: start), isSpace(scalar) {
            start += length
        }
        var end = bytes.count
        while end > start {
            var last = end - 1
            while last > start, end - last < 4, bytes[last] & 0xC0 == 0x80 { last -= 1 }
            guard let (scalar, length) = decode(bytes, at: last), last + length == end, isSpace(scalar) else { break }
            end = last
        }
        return start..<end
    }

    /// What Python's `str.strip` removes: White_Space and U+001C–U+001F.
    package static func isSpace(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x09...0x0D, 0x1C...0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
        default: false
        }
    }

    /// `text` without white space at both ends, ASCII letters in lower case: how the reference reads identifiers.
    package static func normalisedIdentifier(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let range = stripped(bytes.span)
        return String(decoding: bytes[range].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// `text` without white space at both ends.
    package static func trimmed(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: bytes[stripped(bytes.span)], as: UTF8.self)
    }
}
