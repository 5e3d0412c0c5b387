/// The checksum of zip.
package struct CRC32 {
    private var state: UInt32 = .max

    package init() {}

    package var value: UInt32 { ~state }

    package mutating func add(_ bytes: Span<UInt8>) {
        for index in bytes.indices {
            state = Self.table[Int((state ^ UInt32(bytes[index])) & 0xFF)] ^ (state >> 8)
        }
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}
