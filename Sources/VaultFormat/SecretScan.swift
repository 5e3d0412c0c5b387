/// Finds keys in zip files, so that a backup of a vault is not committed into one (03-clone-layout §7).
///
/// The names looked for are `VAULT-KEY`, `local/vault_key` and `local/….pem` with a private key in it, each in any folder,
/// and `local/token` when the zip looks like one of a vault. What cannot be read as a zip holds nothing.
package enum SecretScan {
    /// Whether a file that begins so has to be searched: four bytes decide.
    package static func looksLikeZip(_ head: Span<UInt8>) -> Bool {
        head.count >= 4 && head[0] == 0x50 && head[1] == 0x4B && head[2] == 3 && head[3] == 4
    }

    /// The name of the first entry that is a secret; nil when there is none.
    package static func secretEntry(in content: Span<UInt8>) -> [UInt8]? {
        guard looksLikeZip(content) else { return nil }
        let copy = content.array()
        let scan = ZipScan(size: copy.count) { (offset: Int, count: Int) throws(Never) -> [UInt8] in
            Array(copy[offset..<(offset + count)])
        }
        return scan.secretEntry()
    }

    /// The same for content that is read piece by piece.
    ///
    /// `read` gives `count` bytes from `offset`, which lie within `size`; fewer when the content got shorter meanwhile.
    package static func secretEntry<E: Error>(
        size: Int, read: (_ offset: Int, _ count: Int) throws(E) -> [UInt8]
    ) throws(E) -> [UInt8]? {
        try withoutActuallyEscaping(read) { read throws(E) in
            guard size >= 4 else { return nil }
            let head = try read(0, 4)
            guard looksLikeZip(head.span) else { return nil }
            return try ZipScan(size: size, read: read).secretEntry()
        }
    }
}

/// Reads just enough of a zip: its directory, and members that may hold a private key.
struct ZipScan<E: Error> {
    let size: Int
    let read: (_ offset: Int, _ count: Int) throws(E) -> [UInt8]

    struct Entry {
        var name: [UInt8]
        var isEncrypted: Bool
        var method: UInt16
        var compressedSize: UInt64
        var plainSize: UInt64
        var offset: UInt64
        /// CRC-32 of the plain content.
        var checksum: UInt32 = 0
    }

    func secretEntry() throws(E) -> [UInt8]? {
        guard let (entries, shift) = try directory() else { return nil }
        let isVault = entries.contains { entry in
            entry.name.starts(with: "bare/".utf8) || entry.name.starts(with: ".sg_vault/".utf8)
                || entry.name.elementsEqual("manifest.json".utf8) || entry.name.elementsEqual("VAULT-KEY".utf8)
        }
        for entry in entries {
            if Self.ends(entry.name, "VAULT-KEY") || Self.ends(entry.name, "local/vault_key") { return entry.name }
            if isVault, Self.ends(entry.name, "local/token") { return entry.name }
            if Self.isKeyFile(entry.name), try holdsPrivateKey(entry, shift: shift) { return entry.name }
        }
        return nil
    }

    /// Whether `name` is `ending`, in any folder.
    private static func ends(_ name: [UInt8], _ ending: String) -> Bool {
        let bytes = Array(ending.utf8)
        guard name.count > bytes.count else { return name == bytes }
        return name.suffix(bytes.count).elementsEqual(bytes) && name[name.count - bytes.count - 1] == 0x2F
    }

    private static func isKeyFile(_ name: [UInt8]) -> Bool {
        guard let slash = name.lastIndex(of: 0x2F), ends(Array(name[..<slash]), "local") else { return false }
        let leaf = name[(slash + 1)...]
        return leaf.count > 4 && leaf.suffix(4).elementsEqual(".pem".utf8)
    }

    // MARK: - The directory

    /// The entries, and how far all offsets are off because something stands before the zip.
    func directory() throws(E) -> (entries: [Entry], shift: Int)? {
        let tailSize = min(size, 22 + 65_535)
        let tail = try read(size - tailSize, tailSize)
        guard tail.count == tailSize, let place = Self.lastEndRecord(tail) else { return nil }
        let end = size - tailSize + place
        var record = ByteReader(tail.span, from: place + 12)
        guard let size32 = try? record.uint32(tail.span), let offset32 = try? record.uint32(tail.span) else {
            return nil
        }
        var (length, start, recordSize) = (UInt64(size32), UInt64(offset32), 0)
        if let wide = try zip64Record(before: end) { (length, start, recordSize) = (wide.length, wide.start, 76) }
        guard length <= UInt64(Limits.zipDirectory), let length = Int(exactly: length), let start = Int(exactly: start),
            end - recordSize - length >= 0
        else { return nil }
        let position = end - recordSize - length
        let (shift, overflowed) = position.subtractingReportingOverflow(start)
        let bytes = try read(position, length)
        guard !overflowed, bytes.count == length, let entries = Self.entries(bytes.span) else { return nil }
        return (entries, shift)
    }

    private static func lastEndRecord(_ tail: [UInt8]) -> Int? {
        guard tail.count >= 22 else { return nil }
        for place in stride(from: tail.count - 22, through: 0, by: -1)
        where tail[place] == 0x50 && tail[place + 1] == 0x4B && tail[place + 2] == 5 && tail[place + 3] == 6 {
            return place
        }
        return nil
    }

    private func zip64Record(before end: Int) throws(E) -> (length: UInt64, start: UInt64)? {
        guard end >= 76 else { return nil }
        let bytes = try read(end - 76, 76)
        guard bytes.count == 76, bytes.starts(with: [0x50, 0x4B, 6, 6]),
            bytes[56...].starts(with: [0x50, 0x4B, 6, 7])
        else { return nil }
        var record = ByteReader(bytes.span, from: 40)
        guard let length = try? record.uint64(bytes.span), let start = try? record.uint64(bytes.span) else {
            return nil
        }
        return (length, start)
    }

    private static func entries(_ bytes: Span<UInt8>) -> [Entry]? {
        var reader = ByteReader(bytes)
        var entries: [Entry] = []
        while reader.remaining > 0 {
            guard entries.count < Limits.zipEntries, let entry = try? entry(bytes, &reader) else { return nil }
            entries.append(entry)
        }
        return entries
    }

    private static func entry(_ bytes: Span<UInt8>, _ reader: inout ByteReader) throws(FormatError) -> Entry {
        guard try reader.uint32(bytes) == 0x0201_4B50 else { throw .malformed("zip directory") }
        _ = try reader.take(4)
        let flags = try reader.uint16(bytes)
        let method = try reader.uint16(bytes)
        _ = try reader.take(4)
        let checksum = try reader.uint32(bytes)
        let compressedSize = try reader.uint32(bytes)
        let plainSize = try reader.uint32(bytes)
        let nameLength = Int(try reader.uint16(bytes))
        let extraLength = Int(try reader.uint16(bytes))
        let commentLength = Int(try reader.uint16(bytes))
        _ = try reader.take(8)
        let offset = try reader.uint32(bytes)
        let name = bytes.extracting(try reader.take(nameLength)).array()
        let extra = try reader.take(extraLength)
        _ = try reader.take(commentLength)
        var entry = Entry(
            name: name.map { $0 == 0x5C ? 0x2F : $0 }, isEncrypted: flags & 1 != 0, method: method,
            compressedSize: UInt64(compressedSize), plainSize: UInt64(plainSize), offset: UInt64(offset),
            checksum: checksum)
        try widen(&entry, bytes, extra, plainSizeIsWide: plainSize == .max)
        return entry
    }

    /// Takes sizes and offset that do not fit 32 bits from the Zip64 extra field.
    private static func widen(
        _ entry: inout Entry, _ bytes: Span<UInt8>, _ extra: Range<Int>, plainSizeIsWide: Bool
    ) throws(FormatError) {
        var reader = ByteReader(bytes, from: extra.lowerBound, to: extra.upperBound)
        while reader.remaining >= 4 {
            let id = try reader.uint16(bytes)
            let field = try reader.take(Int(try reader.uint16(bytes)))
            guard id == 1 else { continue }
            var wide = ByteReader(bytes, from: field.lowerBound, to: field.upperBound)
            if plainSizeIsWide { entry.plainSize = try wide.uint64(bytes) }
            if entry.compressedSize == UInt32.max { entry.compressedSize = try wide.uint64(bytes) }
            if entry.offset == UInt32.max { entry.offset = try wide.uint64(bytes) }
        }
    }

    // MARK: - Members

    private func holdsPrivateKey(_ entry: Entry, shift: Int) throws(E) -> Bool {
        guard !entry.isEncrypted else { return false }
        // Other compressions than these two cannot be looked into; a key file in one of them is taken for what it says.
        guard entry.method == 0 || entry.method == 8 else { return true }
        guard let data = try start(of: entry, shift: shift) else { return false }
        let length = min(Int(clamping: entry.compressedSize), size - data, Limits.zipMember)
        return try search(from: data, length: length, isDeflated: entry.method == 8)
    }

    /// Where the bytes of a member begin; nil when they can not be found.
    func start(of entry: Entry, shift: Int) throws(E) -> Int? {
        guard let offset = Int(exactly: entry.offset) else { return nil }
        let (start, overflowed) = offset.addingReportingOverflow(shift)
        guard !overflowed, start >= 0, start <= size - 30 else { return nil }
        let header = try read(start, 30)
        guard header.count == 30, header.starts(with: [0x50, 0x4B, 3, 4]) else { return nil }
        let names = Int(header[26]) | Int(header[27]) << 8
        let extras = Int(header[28]) | Int(header[29]) << 8
        let data = start + 30 + names + extras
        return data <= size ? data : nil
    }

    private func search(from start: Int, length: Int, isDeflated: Bool) throws(E) -> Bool {
        var inflater: Inflater
        do {
            inflater = try Inflater(limit: Limits.zipMember, raw: true)
        } catch {
            return false
        }
        var window: [UInt8] = []
        var done = 0
        var isDamaged = false
        while done < length, !isDamaged {
            let piece = try read(start + done, min(64 << 10, length - done))
            guard !piece.isEmpty else { break }
            done += piece.count
            if isDeflated {
                do { try inflater.update(piece.span, into: &window) } catch { isDamaged = true }
            } else {
                window.append(contentsOf: piece)
            }
            if Self.containsMarker(window) { return true }
            window.removeFirst(max(0, window.count - Self.marker.count))
        }
        return false
    }

    private static var marker: [UInt8] { Array("PRIVATE KEY".utf8) }

    private static func containsMarker(_ bytes: [UInt8]) -> Bool {
        let marker = Self.marker
        guard bytes.count >= marker.count else { return false }
        for start in 0...(bytes.count - marker.count)
        where bytes[start] == marker[0] && bytes[start..<(start + marker.count)].elementsEqual(marker) {
            return true
        }
        return false
    }
}
