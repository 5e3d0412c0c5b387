/// A cursor over distinguished encoding rules (X.690 §10): one form for every value, and everything else is refused.
///
/// It holds positions only, so that private keys stay in the memory they lie in; the bytes are lent to every call.
/// Refused as `invalidKey`: indefinite lengths, lengths longer than needed, tags of more than one byte, integers that
/// are negative or padded, and whatever is left where ``finish()`` is called.
struct DERReader {
    /// The identifiers that keys consist of.
    enum Tag {
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectID: UInt8 = 0x06
        static let sequence: UInt8 = 0x30
    }

    /// Lengths above this many bytes stand in no key.
    private static let maximumLengthBytes = 3

    private var position: Int
    private let end: Int

    /// Starts at the first of the bytes.
    init(_ bytes: Span<UInt8>) {
        self.init(0..<bytes.count)
    }

    /// Starts in a part of the bytes, for example in the content of a value.
    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// Whether nothing is left.
    var isAtEnd: Bool { position == end }

    /// The tag of the next value; nil at the end.
    func nextTag(_ bytes: Span<UInt8>) -> UInt8? {
        position < end ? bytes[position] : nil
    }

    /// Refuses what is left.
    func finish() throws(CryptoError) {
        guard isAtEnd else { throw CryptoError(.invalidKey) }
    }

    /// Steps over the next value, which must have this tag, and gives the place of its content.
    mutating func content(_ tag: UInt8, _ bytes: Span<UInt8>) throws(CryptoError) -> Range<Int> {
        guard position < end, bytes[position] == tag, position + 1 < end else { throw CryptoError(.invalidKey) }
        position += 2
        var count = Int(bytes[position - 1])
        if count >= 0x80 {
            let lengthBytes = count & 0x7F
            guard lengthBytes >= 1, lengthBytes <= Self.maximumLengthBytes, lengthBytes <= end - position else {
                throw CryptoError(.invalidKey)
            }
            count = 0
            for _ in 0..<lengthBytes {
                count = count << 8 | Int(bytes[position])
                position += 1
            }
            // The shortest form: short below 128, and no leading zero byte.
            guard count >= 0x80, count >> (8 * (lengthBytes - 1)) != 0 else { throw CryptoError(.invalidKey) }
        }
        guard count <= end - position else { throw CryptoError(.invalidKey) }
        defer { position += count }
        return position..<position + count
    }

    /// A reader of the content of the next value.
    mutating func nested(_ tag: UInt8, _ bytes: Span<UInt8>) throws(CryptoError) -> DERReader {
        DERReader(try content(tag, bytes))
    }

    /// The place of a number that is not negative, without the zero byte of its sign; zero is one zero byte.
    mutating func unsigned(_ bytes: Span<UInt8>) throws(CryptoError) -> Range<Int> {
        let range = try content(Tag.integer, bytes)
        guard let first = range.first, bytes[first] < 0x80 else { throw CryptoError(.invalidKey) }
        guard range.count > 1, bytes[first] == 0 else { return range }
        guard bytes[first + 1] >= 0x80 else { throw CryptoError(.invalidKey) }
        return range.dropFirst()
    }

    /// A number that is not negative and below 2^62.
    mutating func number(_ bytes: Span<UInt8>) throws(CryptoError) -> Int {
        let range = try unsigned(bytes)
        guard range.count < 8 || range.count == 8 && bytes[range.lowerBound] < 0x40 else {
            throw CryptoError(.invalidKey)
        }
        return range.reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// The content of an object identifier as it is encoded.
    mutating func objectID(_ bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        [UInt8](copying: bytes.extracting(try content(Tag.objectID, bytes)))
    }

    /// Steps over a NULL.
    mutating func null(_ bytes: Span<UInt8>) throws(CryptoError) {
        guard try content(Tag.null, bytes).isEmpty else { throw CryptoError(.invalidKey) }
    }
}
