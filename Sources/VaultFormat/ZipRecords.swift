/// The records of a zip whose members are stored and not deflated: ciphertext does not get smaller.
package enum ZipRecords {
    /// Where in a local header the checksum stands.
    package static let checksumOffset: Int64 = 14
    /// What a local header begins with.
    package static let localSignature: UInt32 = 0x0403_4B50
    /// What an entry of the directory begins with.
    package static let entrySignature: UInt32 = 0x0201_4B50

    /// A local header, or with an offset an entry of the directory; sizes in the 64-bit form throughout.
    package static func header(
        _ name: [UInt8], _ size: Int64, checksum: UInt32, signature: UInt32, offset: Int64?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        append(signature, to: &bytes)
        // Version 4.5 made and reads it; names are UTF-8; stored; the time is the first that zip knows.
        if offset != nil { append(UInt16(45), to: &bytes) }
        for value in [45, 0x0800, 0, 0, 0x21] as [UInt16] { append(value, to: &bytes) }
        append(checksum, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt16(name.count), to: &bytes)
        append(UInt16(offset == nil ? 20 : 28), to: &bytes)
        if offset != nil {
            for _ in 0..<3 { append(UInt16(0), to: &bytes) }
            append(UInt32(0), to: &bytes)
            append(UInt32.max, to: &bytes)
        }
        bytes += name
        append(UInt16(1), to: &bytes)
        append(UInt16(offset == nil ? 16 : 24), to: &bytes)
        append(UInt64(size), to: &bytes)
        append(UInt64(size), to: &bytes)
        if let offset { append(UInt64(offset), to: &bytes) }
        return bytes
    }

    /// What stands after the directory, in both widths.
    package static func end(count: Int, directorySize: Int64, directoryOffset: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        append(0x0606_4B50 as UInt32, to: &bytes)
        append(UInt64(44), to: &bytes)
        append(UInt16(45), to: &bytes)
        append(UInt16(45), to: &bytes)
        append(UInt64(0), to: &bytes)
        append(UInt64(count), to: &bytes)
        append(UInt64(count), to: &bytes)
        append(UInt64(directorySize), to: &bytes)
        append(UInt64(directoryOffset), to: &bytes)
        append(0x0706_4B50 as UInt32, to: &bytes)
        append(UInt32(0), to: &bytes)
        append(UInt64(directoryOffset + directorySize), to: &bytes)
        append(UInt32(1), to: &bytes)
        append(0x0605_4B50 as UInt32, to: &bytes)
        append(UInt32(0), to: &bytes)
        append(UInt16.max, to: &bytes)
        append(UInt16.max, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt16(0), to: &bytes)
        return bytes
    }

    package static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
