import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

/// Base64 of every length and with every kind of damage, against the definition of RFC 4648 §4 written out bit by bit.
@Suite("Base64")
struct Base64Tests {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let pad = UInt8(ascii: "=")

    /// The characters of bytes: six bits each, zeros behind the last, filled up to a multiple of four.
    private func naive(_ bytes: [UInt8]) -> [UInt8] {
        var bits = bytes.flatMap { byte in (0..<8).reversed().map { Int(byte >> $0 & 1) } }
        while bits.count % 6 != 0 { bits.append(0) }
        var text = stride(from: 0, to: bits.count, by: 6).map { start in
            Self.alphabet[bits[start..<start + 6].reduce(0) { $0 * 2 + $1 }]
        }
        while text.count % 4 != 0 { text.append(Self.pad) }
        return text
    }

    /// What a text gives where it lies behind `gap` other bytes; nil when it is not read to its end.
    private func inPlace(_ text: [UInt8], gap: Int, place: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0x2A, count: gap) + text + [0x2A, 0x2A]
        let (read, written) = Base64.decode(gap..<gap + text.count, of: &bytes, to: place)
        #expect(bytes.suffix(2) == [0x2A, 0x2A])
        #expect(bytes.prefix(place).allSatisfy { $0 == 0x2A })
        // What was not read is still there.
        #expect(bytes.dropLast(2).suffix(text.count - read) == text.suffix(text.count - read))
        return read == text.count ? Array(bytes[place..<place + written]) : nil
    }

    private func pieces(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        let whole = text.count / 4 * 4
        let read = Base64Blocks.decode(text.span.extracting(first: whole), appendingTo: &bytes)
        return read == text.count ? bytes : nil
    }

    @Test("the vectors of RFC 4648 section 10 go both ways, as a whole and where they lie")
    func vectors() {
        for (plain, encoded) in [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let (plain, encoded) = (Array(plain.utf8), Array(encoded.utf8))
            #expect(base64Encoded(plain) == encoded)
            #expect(base64Decoded(encoded) == plain)
            #expect(inPlace(encoded, gap: 0, place: 0) == plain)
        }
    }

    @Test("every length from 0 to 200 goes both ways")
    func lengths() {
        let random = SeededRandom.announced("Base64Tests")
        for count in 0...200 {
            let bytes = random.block(count)
            let text = naive(bytes)
            #expect(base64Encoded(bytes) == text)
            #expect(base64Decoded(text) == bytes)
            for (gap, place) in [(0, 0), (1, 0), (7, 7), (9, 3)] {
                #expect(inPlace(text, gap: gap, place: place) == bytes)
            }
            if count % 3 == 0 { #expect(pieces(text) == bytes) }
            var appended: [UInt8] = [1, 2]
            Base64.append(bytes.span, to: &appended)
            #expect(appended == [1, 2] + text)
        }
    }

    @Test("lengths around the ones from which the long tables are used go both ways", arguments: -4...4)
    func longLengths(_ difference: Int) {
        let random = SeededRandom.announced("Base64Tests")
        for count in [3072, 6144, 12_000] {
            let bytes = random.block(count + difference)
            let text = naive(bytes)
            #expect(base64Encoded(bytes) == text)
            #expect(base64Decoded(text) == bytes)
            #expect(inPlace(text, gap: 5, place: 2) == bytes)
        }
    }

    @Test("each byte outside the alphabet is refused at each place of a block", arguments: [16, 24, 4096])
    func foreignBytes(_ count: Int) {
        let text = naive((0..<count / 4 * 3).map { UInt8(truncatingIfNeeded: $0 &* 37) })
        let foreign = (UInt8.min...UInt8.max).filter { !Self.alphabet.contains($0) }
        #expect(foreign.count == 192)
        // In a long text the places of the first and of the last two steps of the loop stand for all.
        let places = count > 100 ? Array(0..<12) + Array(count - 20..<count) : Array(0..<count)
        for place in places {
            // Each of them in the short texts.
            for byte in foreign where (byte != Self.pad || place < count - 2) && (count < 100 || byte % 16 == 13) {
                var bad = text
                bad[place] = byte
                #expect(base64Decoded(bad) == nil)
                #expect(pieces(bad) == nil)
                #expect(inPlace(bad, gap: 3, place: 0) == nil)
            }
        }
    }

    @Test("bits behind the last byte are zero, and padding is where it belongs")
    func restBits() {
        for length in [1, 2, 13, 14, 3073, 3074] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 91) }
            let text = naive(bytes)
            let place = text.count - (length % 3 == 1 ? 3 : 2)
            for character in Self.alphabet where character != text[place] {
                var changed = text
                changed[place] = character
                // Another byte than before, or bits that are not zero.
                let expected = base64Decoded(changed).map { naive($0) } ?? changed
                #expect(expected == changed)
                let isCanonical = Self.alphabet.firstIndex(of: character).map { $0 % (length % 3 == 1 ? 16 : 4) == 0 }
                #expect((base64Decoded(changed) != nil) == isCanonical)
                #expect((inPlace(changed, gap: 0, place: 0) != nil) == isCanonical)
            }
        }
        for bad in ["Z", "Zg", "Zg=", "Z===", "====", "=", "Zg==Zg==", "Zm8=Zm8=", "Zm9vZ", "Zm9vZg=", "Z=g=", "=g=="] {
            #expect(base64Decoded(Array(bad.utf8)) == nil, "\(bad)")
            #expect(inPlace(Array(bad.utf8), gap: 1, place: 0) == nil, "\(bad)")
        }
    }

    @Test("a text is read in place up to the group that is none")
    func partly() {
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 53) }
        for place in stride(from: 0, to: 400, by: 7) {
            var text = naive(bytes)
            text[place] = UInt8(ascii: "\n")
            let (read, written) = Base64.decode(0..<text.count, of: &text, to: 0)
            // Never more than the groups before it, and at most the one step of eight characters less.
            #expect(read <= place && read > place - 12 && read % 4 == 0)
            #expect(written == read / 4 * 3 && Array(text.prefix(written)) == Array(bytes.prefix(written)))
        }
    }
}
