internal import VaultCrypto

/// Base64 with the standard alphabet, padded and without line breaks (RFC 4648 §4).
package enum Base64 {
    /// From this many characters on the tables for long texts are worth their cache.
    private static let longCount = 4096
    private static let pad = UInt8(ascii: "=")

    /// The characters for `bytes` as ASCII.
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(encodedCount(bytes.count))
        append(bytes, to: &result)
        return result
    }

    /// The characters for `bytes` as text.
    package static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: encode(bytes), as: UTF8.self)
    }

    /// Appends the characters for `bytes`.
    package static func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        let whole = bytes.count / 3 * 3
        Base64Blocks.encode(bytes.extracting(first: whole), appendingTo: &output)
        guard whole < bytes.count else { return }
        let second = whole + 1 < bytes.count ? bytes[whole + 1] : 0
        let last = [bytes[whole], second, 0]
        Base64Blocks.encode(last.span, appendingTo: &output)
        output[output.count - 1] = pad
        if whole + 1 == bytes.count { output[output.count - 2] = pad }
    }

    /// Characters needed for `count` bytes.
    package static func encodedCount(_ count: Int) -> Int {
        (count + 2) / 3 * 4
    }

    /// The bytes that `text` spells; nil unless it is exactly what `encode` writes.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(text.count / 4 * 3)
        return decode(text, into: &result) ? result : nil
    }

    /// Replaces `output` by the bytes that `text` spells, keeping its storage; false when it is not base64.
    package static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) -> Bool {
        output.removeAll(keepingCapacity: true)
        guard text.count % 4 == 0 else { return false }
        let body = bodyCount(text)
        if body >= longCount {
            guard Base64Blocks.decode(text.extracting(first: body), appendingTo: &output) == body else { return false }
        } else {
            output.append(contentsOf: repeatElement(0, count: body / 4 * 3))
            guard decode(text, count: body, into: output.mutableSpan) else { return false }
        }
        guard body < text.count else { return true }
        guard let last = lastBytes(text.extracting(body...)) else { return false }
        output.append(last.first)
        if let second = last.second { output.append(second) }
        return true
    }

    /// Decodes a text where it lies, as far as it is base64: all of it, or its whole groups up to the first character
    /// that is none.
    ///
    /// * `text`: Where the characters are; from the first that is not read on they stay.
    /// * `place`: Where the bytes come to stand, not behind the beginning of the text.
    /// - Returns: The number of characters read, and of bytes that they gave.
    package static func decode(
        _ text: Range<Int>, of bytes: inout [UInt8], to place: Int
    ) -> (read: Int, written: Int) {
        let body = text.count % 4 == 0 ? bodyCount(bytes.span.extracting(text)) : text.count / 4 * 4
        var target = bytes.mutableSpan
        let read = Base64Blocks.decode(text.lowerBound..<text.lowerBound + body, of: &target, to: place)
        let written = read / 4 * 3
        guard read == body, body < text.count, text.count % 4 == 0 else { return (read, written) }
        guard let last = lastBytes(bytes.span.extracting(text.lowerBound + body..<text.upperBound)) else {
            return (read, written)
        }
        bytes[place + written] = last.first
        guard let second = last.second else { return (text.count, written + 1) }
        bytes[place + written + 1] = second
        return (text.count, written + 2)
    }

    /// How many characters stand before a padded group, of a text of whole groups.
    private static func bodyCount(_ text: Span<UInt8>) -> Int {
        text.isEmpty || text[text.count - 1] != pad ? text.count : text.count - 4
    }

    /// The one or two bytes of a padded group; nil unless the bits behind them are zero.
    private static func lastBytes(_ group: Span<UInt8>) -> (first: UInt8, second: UInt8?)? {
        let (first, second) = (table[Int(group[0])], table[Int(group[1])])
        guard (first | second) & 0x80 == 0 else { return nil }
        if group[2] == pad { return second & 0x0F == 0 ? (first << 2 | second >> 4, nil) : nil }
        let third = table[Int(group[2])]
        guard third & 0x83 == 0 else { return nil }
        return (first << 2 | second >> 4, second << 4 | third >> 2)
    }

    /// Spells `count` characters, whole groups without padding; false when one is outside the alphabet.
    private static func decode(_ text: Span<UInt8>, count: Int, into target: consuming MutableSpan<UInt8>) -> Bool {
        let held = table
        let table = held.span
        var (index, place) = (0, 0)
        var seen: UInt8 = 0
        while index < count {
            let (first, second) = (table[Int(text[index])], table[Int(text[index + 1])])
            let (third, fourth) = (table[Int(text[index + 2])], table[Int(text[index + 3])])
            seen |= first | second | third | fourth
            target[place] = first << 2 | second >> 4
            target[place + 1] = second << 4 | third >> 2
            target[place + 2] = third << 6 | fourth
            index += 4
            place += 3
        }
        return seen & 0x80 == 0
    }

    /// The value of every byte; 0x80 for those outside the alphabet.
    private static let table: [UInt8] = {
        var table = [UInt8](repeating: 0x80, count: 256)
        for (value, character) in Base64Blocks.alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()
}
