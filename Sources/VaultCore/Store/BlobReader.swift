internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Decrypts blobs, in memory when small and as a stream when not.
struct BlobReader: Sendable {
    let store: ObjectStore
    let cipher: VaultCipher
    /// A batch that may have objects in memory still.
    var batch: ObjectBatch?

    /// When the bytes of a large object are compared with its id.
    enum Check: Sendable {
        case before
        /// On the way: what the sink did must be undone when the call throws.
        case during
        /// The caller has just done it.
        case done
    }

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
    /// Nothing is given before the object's bytes were found to be those of its id, unless `check` says otherwise.
    func stream(_ entry: FileEntry, check: Check = .before, into sink: (Span<UInt8>) throws -> Void) throws {
        if let bytes = try small(entry) {
            try sink(bytes.span)
            return
        }
        let id = entry.blobID
        let (file, size) = try store.open(id)
        guard size >= 28 else { throw Self.tooShort(id) }
        let head = try attempt("cannot read object \(id.text)") { () throws(Errno) in try file.read(upTo: 17) }
        let isDeflated = try head.starts(with: VaultCipher.deflateMagic) && size > 17 && tagFits(file, size, id)
        if check == .before { try verify(file, id) }
        try decrypt(file, size, entry, isDeflated: isDeflated, checkingID: check == .during, into: sink)
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
        try check(try hash.finish(), id)
    }

    private func check(_ digest: [UInt8], _ id: ObjectID) throws(VaultError) {
        guard id.matches(digest: digest) else {
            store.quarantine(id)
            throw VaultError(
                .objectCorrupt, "object \(id.text) does not hold the bytes of its id", hint: "vaultctl fsck --repair",
                object: id.text)
        }
    }

    /// Whether the object is a deflated envelope, and not an ordinary one whose IV begins like one (spec 01 §3).
    private func tagFits(_ file: any File, _ size: Int64, _ id: ObjectID) throws -> Bool {
        do {
            _ = try decryptRaw(file, size, id, offset: Int64(VaultCipher.deflateMagic.count), hashes: false) { _ in }
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
        let digest: [UInt8]?
        if isDeflated {
            var inflater = try decoding("blob \(id.text)") { () throws(FormatError) in try Inflater(limit: limit) }
            let offset = Int64(VaultCipher.deflateMagic.count)
            digest = try decryptRaw(file, size, id, offset: offset, hashes: checkingID) { chunk in
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
            digest = try decryptRaw(file, size, id, offset: 0, hashes: checkingID, into: sink)
        }
        if let digest { try check(digest, id) }
    }

    /// Decrypts `iv ‖ ciphertext ‖ tag` from `offset` on: one core reads (and hashes, where wanted) ahead of the other,
    /// which decrypts and hands on.
    ///
    /// - Returns: The SHA-256 of the whole file, where it is wanted.
    private func decryptRaw(
        _ file: any File, _ size: Int64, _ id: ObjectID, offset: Int64, hashes: Bool,
        into sink: (Span<UInt8>) throws -> Void
    ) throws -> [UInt8]? {
        guard size >= offset + 28 else { throw Self.tooShort(id) }
        try attempt("cannot read object \(id.text)") { () throws(Errno) in try file.seek(to: 0) }
        let head = try Self.read(Int(offset) + 12, of: file, id)
        let opener = try cipher.aead.makeOpener(iv: head.span.extracting(Int(offset)..<Int(offset) + 12))
        let length = size - offset - 28
        let channel = Channel<[UInt8]>(capacity: 4)
        let (digest, tag) = try beside(id) { () throws -> [UInt8]? in
            defer { channel.finish() }
            let hash = hashes ? try IncrementalHash() : nil
            try hash?.update(head.span)
            var remaining = length
            while remaining > 0 {
                let chunk = try Self.read(Int(min(remaining, Int64(Self.chunk))), of: file, id)
                remaining -= Int64(chunk.count)
                guard channel.send(chunk) else { return nil }
                try hash?.update(chunk.span)
            }
            let tag = try Self.read(16, of: file, id)
            _ = channel.send(tag)
            try hash?.update(tag.span)
            return try hash?.finish()
        } beside: { () throws -> [UInt8] in
            defer { channel.cancel() }
            var remaining = length
            var plaintext: [UInt8] = []
            while let chunk = channel.receive() {
                if remaining == 0 { return chunk }
                remaining -= Int64(chunk.count)
                try opener.update(chunk.span, into: &plaintext)
                try sink(plaintext.span)
            }
            return []
        }
        do throws(CryptoError) {
            try opener.finish(tag: tag.span)
        } catch {
            throw VaultError(
                .decryptFailed, "object \(id.text) does not decrypt with this vault's key", object: id.text,
                cause: error)
        }
        return digest
    }

    private func beside<First: Sendable, Second>(
        _ id: ObjectID, _ first: @Sendable () throws -> First, beside second: () throws -> Second
    ) throws -> (First, Second) {
        do { return try WorkerPool.concurrently(first, beside: second) } catch let error as Errno {
            throw VaultError.io(error, "cannot read object \(id.text)")
        }
    }

    private static func read(_ count: Int, of file: any File, _ id: ObjectID) throws(VaultError) -> [UInt8] {
        let bytes = try attempt("cannot read object \(id.text)") { () throws(Errno) in
            try file.read(fillingUpTo: count, sizeHint: count)
        }
        guard bytes.count == count else {
            throw VaultError(.objectCorrupt, "object \(id.text) is cut short", object: id.text)
        }
        return bytes
    }

    /// What a blob may inflate to: the size its tree entry gives, where the entry is complete.
    private func plaintextLimit(_ entry: FileEntry) -> Int {
        entry.contentHash == nil ? Limits.blobPlaintext : Int(clamping: max(entry.size, 0))
    }

    private static func tooShort(_ id: ObjectID) -> VaultError {
        VaultError(.objectCorrupt, "object \(id.text) is too short to be one", object: id.text)
    }
}
