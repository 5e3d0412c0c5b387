/// The directory of a zip whose members are neither compressed nor encrypted, as backups of vaults are (05-sync §14).
package enum StoredZip {
    /// A member and where its bytes lie.
    package struct Member: Sendable, Equatable {
        package var name: [UInt8]
        package var start: Int64
        package var size: Int64
        /// CRC-32 of the bytes.
        package var checksum: UInt32
    }

    /// The members in the order of their bytes.
    ///
    /// No two have one name or share bytes, and all lie within the file: together they are no larger than it.
    ///
    /// * `read`: Gives `count` bytes from `offset`, which lie within `size`.
    /// - Returns: A failure `.malformed` for what is no such zip, `.unsupported` for compressed or encrypted members.
    package static func members<E: Error>(
        size: Int, read: (_ offset: Int, _ count: Int) throws(E) -> [UInt8]
    ) throws(E) -> Result<[Member], FormatError> {
        try withoutActuallyEscaping(read) { read throws(E) in
            let scan = ZipScan(size: size) { (offset: Int, count: Int) throws(E) -> [UInt8] in
                guard offset >= 0, count >= 0, count <= size, offset <= size - count else { return [] }
                return try read(offset, count)
            }
            guard let (entries, shift) = try scan.directory() else { return .failure(.malformed("not a zip")) }
            var members: [Member] = []
            var names = Set<[UInt8]>(minimumCapacity: entries.count)
            for entry in entries {
                guard !entry.isEncrypted, entry.method == 0 else {
                    return .failure(.unsupported("a member of the zip is compressed or encrypted"))
                }
                guard names.insert(entry.name).inserted else {
                    return .failure(.malformed("two members of the zip have one name"))
                }
                guard entry.plainSize == entry.compressedSize, let length = Int(exactly: entry.plainSize),
                    let start = try scan.start(of: entry, shift: shift), length <= size - start
                else { return .failure(.malformed("a member of the zip is not where it should be")) }
                members.append(
                    Member(name: entry.name, start: Int64(start), size: Int64(length), checksum: entry.checksum))
            }
            members.sort { $0.start < $1.start }
            for (member, next) in zip(members, members.dropFirst()) where member.start + member.size > next.start {
                return .failure(.malformed("members of the zip share their bytes"))
            }
            return .success(members)
        }
    }
}
