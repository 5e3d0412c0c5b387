/// Whole groups of base64 (RFC 4648 §4) in long runs, two characters per look-up and a word per step.
///
/// It stands here because loading and storing words is unsafe code; what a text may look like, padding above all, is the
/// business of `Base64` in VaultFormat.
package enum Base64Blocks {
    /// Appends the four characters of every three bytes.
    ///
    /// * `bytes`: A multiple of three.
    package static func encode(_ bytes: Span<UInt8>, appendingTo output: inout [UInt8]) {
        precondition(bytes.count % 3 == 0, "not whole groups")
        let count = bytes.count / 3 * 4
        output.append(addingCapacity: count) { room in
            // unsafe: the source is lent for one call, and exactly `count` bytes are written into the room for them.
            unsafe bytes.withUnsafeBytes { source in
                unsafe room.withUnsafeMutableBufferPointer { target, initialized in
                    guard let from = source.baseAddress, let to = target.baseAddress else { return }
                    unsafe encode(from, source.count, to: UnsafeMutableRawPointer(to))
                    initialized = count
                }
            }
        }
    }

    /// Appends the three bytes of every four characters, up to the first group with a character outside the alphabet.
    ///
    /// * `text`: A multiple of four; padding is outside the alphabet.
    /// - Returns: How many characters were read, a multiple of four.
    package static func decode(_ text: Span<UInt8>, appendingTo output: inout [UInt8]) -> Int {
        precondition(text.count % 4 == 0, "not whole groups")
        var read = 0
        output.append(addingCapacity: text.count / 4 * 3) { room in
            // unsafe: the source is lent for one call, and no more than three bytes are written for four of it.
            unsafe text.withUnsafeBytes { source in
                unsafe room.withUnsafeMutableBufferPointer { target, initialized in
                    guard let from = source.baseAddress, let to = target.baseAddress else { return }
                    read = unsafe decode(from, source.count, to: UnsafeMutableRawPointer(to))
                    initialized = read / 4 * 3
                }
            }
        }
        return read
    }

    /// The same where the text lies: the bytes come to stand from `place` on, which is not behind the text's beginning.
    ///
    /// Nothing behind the characters that were read is touched.
    package static func decode(_ text: Range<Int>, of bytes: inout MutableSpan<UInt8>, to place: Int) -> Int {
        precondition(text.count % 4 == 0, "not whole groups")
        precondition(place >= 0 && place <= text.lowerBound && text.upperBound <= bytes.count, "outside the bytes")
        // unsafe: both ranges lie in the bytes, and a step writes what is behind it only after it was read.
        return unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe decode(start + text.lowerBound, text.count, to: start + place)
        }
    }

    private static func encode(_ source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer) {
        unsafe pairs.withUnsafeBufferPointer { pairs in
            var (index, place) = (0, 0)
            // A step loads eight bytes and uses six.
            while index + 8 <= count {
                let word = unsafe UInt64(bigEndian: source.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let low = unsafe UInt64(pairs[Int(word >> 52)]) | UInt64(pairs[Int(word >> 40 & 0xFFF)]) << 16
                let high = unsafe UInt64(pairs[Int(word >> 28 & 0xFFF)]) | UInt64(pairs[Int(word >> 16 & 0xFFF)]) << 16
                unsafe target.storeBytes(of: (low | high << 32).littleEndian, toByteOffset: place, as: UInt64.self)
                index &+= 6
                place &+= 8
            }
            while index < count {
                let (first, second) = unsafe (
                    source.load(fromByteOffset: index, as: UInt8.self),
                    source.load(fromByteOffset: index + 1, as: UInt8.self)
                )
                let third = unsafe source.load(fromByteOffset: index + 2, as: UInt8.self)
                let group = Int(first) << 16 | Int(second) << 8 | Int(third)
                let four = unsafe UInt32(pairs[group >> 12]) | UInt32(pairs[group & 0xFFF]) << 16
                unsafe target.storeBytes(of: four.littleEndian, toByteOffset: place, as: UInt32.self)
                index &+= 3
                place &+= 4
            }
        }
    }

    private static func decode(
        _ source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer
    ) -> Int {
        unsafe values.withUnsafeBufferPointer { values in
            var (index, place) = (0, 0)
            // A step stores eight bytes, of which six are meant; there is room while twelve characters are left.
            while index + 12 <= count {
                let word = unsafe UInt64(littleEndian: source.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let (first, second) = unsafe (values[Int(word & 0xFFFF)], values[Int(word >> 16 & 0xFFFF)])
                let (third, fourth) = unsafe (values[Int(word >> 32 & 0xFFFF)], values[Int(word >> 48)])
                guard (first | second | third | fourth) & outside == 0 else { break }
                let high = UInt64(first) << 12 | UInt64(second)
                let low = UInt64(third) << 12 | UInt64(fourth)
                unsafe target.storeBytes(
                    of: (high << 40 | low << 16).bigEndian, toByteOffset: place, as: UInt64.self)
                index &+= 8
                place &+= 6
            }
            while index < count {
                let word = unsafe UInt32(littleEndian: source.loadUnaligned(fromByteOffset: index, as: UInt32.self))
                let (first, second) = unsafe (values[Int(word & 0xFFFF)], values[Int(word >> 16)])
                guard (first | second) & outside == 0 else { break }
                let group = UInt32(first) << 12 | UInt32(second)
                unsafe target.storeBytes(
                    of: UInt8(truncatingIfNeeded: group >> 16), toByteOffset: place, as: UInt8.self)
                unsafe target.storeBytes(
                    of: UInt16(truncatingIfNeeded: group).bigEndian, toByteOffset: place + 1, as: UInt16.self)
                index &+= 4
                place &+= 3
            }
            return index
        }
    }

    /// The characters for the values 0 to 63.
    package static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The two characters for every 12 bits, the first in the lower half.
    private static let pairs: [UInt16] = {
        let alphabet = Base64Blocks.alphabet
        return (0..<4096).map { UInt16(alphabet[$0 >> 6]) | UInt16(alphabet[$0 & 63]) << 8 }
    }()

    /// Marks two characters of which one is outside the alphabet.
    private static let outside: UInt16 = 0x8000

    /// The 12 bits of every two characters, the first in the lower half.
    ///
    /// Of its 128 KB a text uses 16, which stay in the processor's first cache.
    private static let values: [UInt16] = {
        let alphabet = Base64Blocks.alphabet
        var values = [UInt16](repeating: outside, count: 1 << 16)
        for (high, first) in alphabet.enumerated() {
            for (low, second) in alphabet.enumerated() {
                values[Int(first) | Int(second) << 8] = UInt16(high << 6 | low)
            }
        }
        return values
    }()
}
