internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// A zip of a vault's files (R13), member name = file id.
///
/// Members are stored, not deflated: ciphertext does not get smaller.
enum ZipArchive {
    /// Writes the archive to a file that goes away with its last user.
    static func write(_ snapshot: VaultSnapshot) throws -> (file: any File, size: Int64) {
        let file = try snapshot.scratchFile()
        var directory: [UInt8] = []
        var offset: Int64 = 0
        for path in snapshot.paths {
            let source = try snapshot.open(path)
            let size = try source.status().size
            let head = header(path, size, checksum: 0, signature: 0x0403_4B50, offset: nil)
            try file.write(head.span)
            var checksum = CRC32()
            var copied: Int64 = 0
            while copied < size {
                let piece = try source.read(upTo: 1 << 20)
                guard !piece.isEmpty else { throw Errno.ioError }
                checksum.add(piece.span)
                try file.write(piece.span)
                copied += Int64(piece.count)
            }
            // The checksum stands before the bytes it is of.
            var sum: [UInt8] = []
            append(checksum.value, to: &sum)
            let end = offset + Int64(head.count) + size
            try file.write(sum.span, at: offset + 14)
            try file.seek(to: end)
            directory += header(path, size, checksum: checksum.value, signature: 0x0201_4B50, offset: offset)
            offset = end
        }
        let ending = end(count: snapshot.paths.count, directorySize: Int64(directory.count), directoryOffset: offset)
        try file.write(directory.span)
        try file.write(ending.span)
        return (file, offset + Int64(directory.count + ending.count))
    }

    /// A local header, or with an offset an entry of the directory; sizes in the 64-bit form throughout.
    private static func header(
        _ path: String, _ size: Int64, checksum: UInt32, signature: UInt32, offset: Int64?
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        append(signature, to: &bytes)
        // Version 4.5 made and reads it; names are UTF-8; stored; the time is the first that zip knows.
        if offset != nil { append(UInt16(45), to: &bytes) }
        for value in [45, 0x0800, 0, 0, 0x21] as [UInt16] { append(value, to: &bytes) }
        append(checksum, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt32.max, to: &bytes)
        append(UInt16(path.utf8.count), to: &bytes)
        append(UInt16(offset == nil ? 20 : 28), to: &bytes)
        if offset != nil {
            for _ in 0..<3 { append(UInt16(0), to: &bytes) }
            append(UInt32(0), to: &bytes)
            append(UInt32.max, to: &bytes)
        }
        bytes += path.utf8
        append(UInt16(1), to: &bytes)
        append(UInt16(offset == nil ? 16 : 24), to: &bytes)
        append(UInt64(size), to: &bytes)
        append(UInt64(size), to: &bytes)
        if let offset { append(UInt64(offset), to: &bytes) }
        return bytes
    }

    private static func end(count: Int, directorySize: Int64, directoryOffset: Int64) -> [UInt8] {
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

    private static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: value.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

/// The checksum of zip.
struct CRC32 {
    private var state: UInt32 = .max

    var value: UInt32 { ~state }

    mutating func add(_ bytes: Span<UInt8>) {
        for index in bytes.indices {
            state = Self.table[Int((state ^ UInt32(bytes[index])) & 0xFF)] ^ (state >> 8)
        }
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }
}
