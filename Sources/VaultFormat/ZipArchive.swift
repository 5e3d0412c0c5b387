/// The files of a zip that fits in memory, as the reference's stashes are (03-clone-layout §2).
package struct ZipArchive {
    private let scan: ZipScan<Never>
    private let entries: [[UInt8]: ZipScan<Never>.Entry]
    private let shift: Int

    /// Reads the directory; a later entry of a name stands for earlier ones.
    ///
    /// - Throws: `.malformed` for what is no zip.
    package init(_ content: [UInt8]) throws(FormatError) {
        scan = ZipScan(size: content.count) { (offset: Int, count: Int) throws(Never) -> [UInt8] in
            guard offset >= 0, count >= 0, offset <= content.count - count else { return [] }
            return Array(content[offset..<(offset + count)])
        }
        guard let (found, shift) = scan.directory() else { throw .malformed("not a zip") }
        self.shift = shift
        var entries: [[UInt8]: ZipScan<Never>.Entry] = [:]
        for entry in found { entries[entry.name] = entry }
        self.entries = entries
    }

    /// The names of the members; a backslash reads as a slash.
    package var names: [[UInt8]] { Array(entries.keys) }

    /// The content of a member; nil when there is none of that name.
    ///
    /// - Throws: `.malformed` when it is damaged, encrypted or compressed in an unknown way.
    package func content(of name: [UInt8]) throws(FormatError) -> [UInt8]? {
        guard let entry = entries[name.map { $0 == 0x5C ? 0x2F : $0 }] else { return nil }
        guard !entry.isEncrypted, entry.method == 0 || entry.method == 8,
            let start = scan.start(of: entry, shift: shift), let length = Int(exactly: entry.compressedSize),
            let size = Int(exactly: entry.plainSize), length <= scan.size - start
        else { throw .malformed("a member of the zip can not be read") }
        let bytes = scan.read(start, length)
        var result = bytes
        if entry.method == 8 { result = try Inflater.inflate(bytes.span, limit: size, raw: true) }
        guard result.count == size else { throw .malformed("a member of the zip is cut short") }
        return result
    }
}
