internal import VaultFormat
package import VaultSystem

/// Writes a zip to an empty file, member after member; none is in memory as a whole.
package struct ZipFileWriter {
    private let file: any File
    private var directory: [UInt8] = []
    private var offset: Int64 = 0
    private var count = 0

    package init(_ file: any File) {
        self.file = file
    }

    /// Adds a file from its beginning.
    ///
    /// - Throws: `Errno.ioError` when the file is shorter than it said.
    package mutating func add(_ name: [UInt8], from source: any File) throws(Errno) {
        let size = try source.status().size
        let head = ZipRecords.header(name, size, checksum: 0, signature: ZipRecords.localSignature, offset: nil)
        try file.write(head.span)
        var checksum = CRC32()
        var copied: Int64 = 0
        while copied < size {
            let piece = try source.read(upTo: Int(min(1 << 20, size - copied)))
            guard !piece.isEmpty else { throw .ioError }
            checksum.add(piece.span)
            try file.write(piece.span)
            copied += Int64(piece.count)
        }
        // The checksum stands before the bytes it is of.
        var sum: [UInt8] = []
        ZipRecords.append(checksum.value, to: &sum)
        try file.write(sum.span, at: offset + ZipRecords.checksumOffset)
        try file.seek(to: offset + Int64(head.count) + size)
        note(name, head, size, checksum.value)
    }

    /// Adds bytes.
    package mutating func add(_ name: [UInt8], _ bytes: Span<UInt8>) throws(Errno) {
        var checksum = CRC32()
        checksum.add(bytes)
        let size = Int64(bytes.count)
        let head = ZipRecords.header(
            name, size, checksum: checksum.value, signature: ZipRecords.localSignature, offset: nil)
        try file.write(head.span)
        try file.write(bytes)
        note(name, head, size, checksum.value)
    }

    private mutating func note(_ name: [UInt8], _ head: [UInt8], _ size: Int64, _ checksum: UInt32) {
        directory += ZipRecords.header(
            name, size, checksum: checksum, signature: ZipRecords.entrySignature, offset: offset)
        offset += Int64(head.count) + size
        count += 1
    }

    /// Writes the directory; the size of the whole.
    package func finish() throws(Errno) -> Int64 {
        let ending = ZipRecords.end(count: count, directorySize: Int64(directory.count), directoryOffset: offset)
        try file.write(directory.span)
        try file.write(ending.span)
        return offset + Int64(directory.count + ending.count)
    }
}
