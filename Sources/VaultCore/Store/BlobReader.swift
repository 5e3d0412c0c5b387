internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Decrypts blobs, in memory when small and as a stream when not.
struct BlobReader: Sendable {
    let store: ObjectStore
    let cipher: VaultCipher
    /// A batch that may have objects in memory still.
    var batch: ObjectBatch?

    private static let chunk = 1 << 20
    private static let inflatePiece = 8 << 10

    /// The whole content of a blob whose object is small enough to be read at once; nil when it is larger.
    func small(_ entry: FileEntry) throws(VaultError) -> [UInt8]? {
        guard entry.size <= Int64(ObjectStore.inlineLimit) else { return nil }
        var found = batch?.recent(entry.blobID)
        if found == nil { found = try store.readSmall(entry.blobID, limit: ObjectStore.inlineLimit) }
        guard let object = found else { return nil }
        // What an entry does not tell the size of may inflate a thousandfold: that is streamed.
        if entry.contentHash == nil, object.bytes.starts(with: VaultCipher.deflateMagic) { return nil }
        return try decoding("blob \(entry.blobID.text)", object: entry.blobID.text) { () throws(FormatError) in
            try cipher.open(object.bytes.span, limit: plaintextLimit(entry))
        }
    }

    /// Gives the content piece by piece.
    ///
    /// Nothing is given before the object's bytes were found to be those of its id, unless `trusting`: then the sink
    /// must be undone when this throws.
    func stream(_ entry: FileEntry, trusting: Bool = false, into sink: (Span<UInt8>) throws -> Void) throws {
        if let bytes = try small(entry) {
            try sink(bytes.span)
            return
        }
        let id = entry.blobID
        let (file, size) = try store.open(id)
        guard size >= 28 else { throw Self.tooShort(id) }
        let head = try attempt("cannot read object \(id.text)") { () throws(Errno) in try file.read(upTo: 17) }
        let isDeflated = try head.starts(with: VaultCipher.deflateMagic) && size > 17 && tagFits(file, size, id)
        if !trusting { try verify(file, id) }
        try decrypt(file, size, entry, isDeflated: isDeflated, checkingID: trusting, into: sink)
    }

    /// Hashes the whole object.
    private func verify(_ file: any File, _ id: ObjectID) throws {
        try attempt("cannot read object \(id.text)") { () throws(Errno) in try file.seek(to: 0) }
        let hash = try IncrementalHash()
        while true {
            let chunk = try attempt("cannot read object \(id.text)") { () throws(Errno) in
                try file.read(upTo: Self.chunk)
            }
            if chunk.isEmpty { break }
            try hash.update(chunk.span)
        }
        try check(hash, id)
    }

    private func check(_ hash: IncrementalHash, _ id: ObjectID) throws(VaultError) {
        guard id.matches(digest: try hash.finish()) else {
            store.quarantine(id)
            throw VaultError(
                .objectCorrupt, "object \(id.text) does not hold the bytes of its id", hint: "vaultctl fsck --repair",
                object: id.text)
        }
    }

    /// Whether the object is a deflated envelope, and not an ordinary one whose IV begins like one (spec 01 §3).
    private func tagFits(_ file: any File, _ size: Int64, _ id: ObjectID) throws -> Bool {
        do {
            try decryptRaw(file, size, id, offset: Int64(VaultCipher.deflateMagic.count), hash: nil) { _ in }
            return true
        } catch let error as VaultError where error.code == .decryptFailed {
            return false
        }
    }

    private func decrypt(
        _ file: any File, _ size: Int64, _ entry: FileEntry, isDeflated: Bool, checkingID: Bool,
        into sink: (Span<UInt8>) throws -> Void
    ) throws {
        let id = entry.blobID
        let limit = plaintextLimit(entry)
        let hash = checkingID ? try IncrementalHash() : nil
        if isDeflated {
            var inflater = try decoding("blob \(id.text)") { () throws(FormatError) in try Inflater(limit: limit) }
            try decryptRaw(file, size, id, offset: Int64(VaultCipher.deflateMagic.count), hash: hash) { chunk in
                // Small pieces: deflate can grow data a thousandfold, and what one piece becomes is held at once.
                var position = 0
                while position < chunk.count {
                    let end = min(chunk.count, position + Self.inflatePiece)
                    var output: [UInt8] = []
                    do throws(FormatError) {
                        try inflater.update(chunk.extracting(position..<end), into: &output)
                    } catch {
                        throw VaultError.format(error, "blob \(id.text)", object: id.text)
                    }
                    if !output.isEmpty { try sink(output.span) }
                    position = end
                }
            }
            do throws(FormatError) { try inflater.finish() } catch {
                throw VaultError.format(error, "blob \(id.text)", object: id.text)
            }
        } else {
            try decryptRaw(file, size, id, offset: 0, hash: hash, into: sink)
        }
        if let hash { try check(hash, id) }
    }

    /// Decrypts `iv ‖ ciphertext ‖ tag` from `offset` on, two buffers deep: one core hashes what the other decrypts.
    private func decryptRaw(
        _ file: any File, _ size: Int64, _ id: ObjectID, offset: Int64, hash: IncrementalHash?,
        into sink: (Span<UInt8>) throws -> Void
    ) throws {
        guard size >= offset + 28 else { throw Self.tooShort(id) }
        func next(_ count: Int) throws -> [UInt8] {
            let bytes = try attempt("cannot read object \(id.text)") { () throws(Errno) in
                try file.read(fillingUpTo: count, sizeHint: count)
            }
            guard bytes.count == count else {
                throw VaultError(.objectCorrupt, "object \(id.text) is cut short", object: id.text)
            }
            try hash?.update(bytes.span)
            return bytes
        }
        try attempt("cannot read object \(id.text)") { () throws(Errno) in try file.seek(to: 0) }
        let head = try next(Int(offset) + 12)
        let opener = try cipher.aead.makeOpener(iv: head.span.extracting(Int(offset)..<Int(offset) + 12))
        var remaining = size - offset - 28
        var plaintext: [UInt8] = []
        while remaining > 0 {
            let chunk = try next(Int(min(remaining, Int64(Self.chunk))))
            remaining -= Int64(chunk.count)
            try opener.update(chunk.span, into: &plaintext)
            try sink(plaintext.span)
        }
        let tag = try next(16)
        do throws(CryptoError) {
            try opener.finish(tag: tag.span)
        } catch {
            throw VaultError(
                .decryptFailed, "object \(id.text) does not decrypt with this vault's key", object: id.text,
                cause: error)
        }
    }

    /// What a blob may inflate to: the size its tree entry gives, where the entry is complete.
    private func plaintextLimit(_ entry: FileEntry) -> Int {
        entry.contentHash == nil ? Limits.blobPlaintext : Int(clamping: max(entry.size, 0))
    }

    private static func tooShort(_ id: ObjectID) -> VaultError {
        VaultError(.objectCorrupt, "object \(id.text) is too short to be one", object: id.text)
    }
}
