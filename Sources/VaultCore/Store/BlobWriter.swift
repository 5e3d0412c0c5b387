internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A blob that was encrypted and staged.
struct StoredBlob: Sendable, Equatable {
    var id: ObjectID
    /// Plaintext bytes.
    var size: Int64
    var contentHash: ContentHash
    /// The ciphertext is larger than 4 MiB (spec 01 §8).
    var isLarge: Bool
    /// SHA-256 of the plaintext.
    var digest: [UInt8]

    func entry(contentType: String) -> FileEntry {
        FileEntry(blobID: id, size: size, contentHash: contentHash, contentType: contentType, isLarge: isLarge)
    }
}

/// Encrypts file contents into a batch, in memory when small and as a stream when not (spec 01 §3).
struct BlobWriter: Sendable {
    let cipher: VaultCipher
    let batch: ObjectBatch
    let random: any RandomSource
    let deflates: Bool

    private static let chunk = 1 << 20
    /// AES-GCM encrypts at most this many bytes under one IV (NIST SP 800-38D §5.2.1.1).
    private static let messageLimit: Int64 = (1 << 36) - 32

    /// Encrypts content held in memory.
    func store(_ bytes: [UInt8]) throws(VaultError) -> StoredBlob {
        let digest = try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) }
        let sealed = try decoding("encrypting") { () throws(FormatError) in
            try cipher.sealBlob(bytes.span, deflate: deflates, random: random)
        }
        let id = try batch.add(sealed)
        return StoredBlob(
            id: id, size: Int64(bytes.count), contentHash: ContentHash(digest: digest),
            isLarge: Int64(sealed.count) > Limits.largeObject, digest: digest)
    }

    /// Encrypts an open file from its position to its end.
    func store(_ file: any File, sizeHint: Int64) throws -> StoredBlob {
        if sizeHint <= Int64(ObjectStore.inlineLimit) {
            let head = try attempt("cannot read a file") { () throws(Errno) in
                try file.read(fillingUpTo: ObjectStore.inlineLimit + 1, sizeHint: Int(sizeHint))
            }
            if head.count <= ObjectStore.inlineLimit { return try store(head) }
            return try store(head: head, rest: file)
        }
        return try store(head: [], rest: file)
    }

    /// Encrypts content of any size that `source` gives piece by piece, on a thread of its own.
    func store(from source: @Sendable ((Span<UInt8>) throws -> Void) throws -> Void) throws -> StoredBlob {
        let pieces = Channel<[UInt8]>(capacity: 4)
        let (_, stored) = try WorkerPool.concurrently(
            { () throws -> Bool in
                defer { pieces.finish() }
                try source { span in
                    // Whoever receives has failed, and says why.
                    guard span.isEmpty || pieces.send(span.array()) else { throw Errno.brokenPipe }
                }
                return true
            },
            beside: { () throws -> StoredBlob in
                defer { pieces.cancel() }
                return try store(head: []) { pieces.receive() ?? [] }
            })
        return stored
    }

    /// Encrypts what was read already and the rest of a file.
    func store(head: [UInt8], rest file: any File) throws -> StoredBlob {
        try store(head: head) { () throws -> [UInt8] in try file.read(upTo: Self.chunk) }
    }

    /// Encrypts what is there already and what `next` gives until it gives nothing.
    ///
    /// One pass: one core reads, hashes and encrypts while the other hashes what was encrypted and writes it.
    private func store(head: [UInt8], next: @Sendable () throws -> [UInt8]) throws -> StoredBlob {
        var encoders = [try BlobEncoder(self, deflate: false)]
        if deflates { encoders.append(try BlobEncoder(self, deflate: true)) }
        let channel = Channel<(encoder: BlobEncoder, sealed: [UInt8])>(capacity: 4)
        let sinks = encoders
        do {
            let (plain, _) = try WorkerPool.concurrently(
                { () throws -> (digest: [UInt8], size: Int64) in
                    defer { channel.finish() }
                    var hash = try SHA256()
                    var size: Int64 = 0
                    var isWanted = true
                    var chunk = head
                    if chunk.isEmpty { chunk = try next() }
                    while !chunk.isEmpty, isWanted {
                        size += Int64(chunk.count)
                        guard size <= Self.messageLimit else {
                            throw VaultError(
                                .notSupported, "a file of more than \(Self.messageLimit) bytes can not be one blob")
                        }
                        try batch.pool.checkCancellation()
                        for encoder in sinks where isWanted {
                            isWanted = channel.send((encoder, try encoder.seal(chunk)))
                        }
                        try hash.update(chunk.span)
                        chunk = try next()
                    }
                    for encoder in sinks where isWanted {
                        isWanted = channel.send((encoder, try encoder.sealEnd()))
                    }
                    return (try hash.finish(), size)
                },
                beside: { () throws -> Void in
                    defer { channel.cancel() }
                    while let (encoder, sealed) = channel.receive() { try encoder.emit(sealed) }
                    for encoder in sinks { try encoder.end() }
                })
            return try choose(sinks, plain)
        } catch {
            for encoder in sinks { encoder.abandon() }
            throw (error as? Errno).map { VaultError.io($0, "cannot store a file") } ?? error
        }
    }

    /// Keeps the deflated form when it is smaller by more than its five bytes of magic (spec 01 §3).
    private func choose(_ encoders: [BlobEncoder], _ plain: (digest: [UInt8], size: Int64)) throws -> StoredBlob {
        var best = encoders[0]
        for encoder in encoders.dropFirst() where encoder.payloadSize + 5 < plain.size { best = encoder }
        for encoder in encoders where encoder !== best { encoder.abandon() }
        let size = best.writtenSize
        let id = try batch.finish(best.name, digest: best.digest, size: size)
        return StoredBlob(
            id: id, size: plain.size, contentHash: ContentHash(digest: plain.digest),
            isLarge: size > Limits.largeObject, digest: plain.digest)
    }
}

/// One encrypted form of a file on its way to the disk.
///
/// One thread seals, another writes.
private final class BlobEncoder: Sendable {
    private struct Sealing {
        var sealer: AESGCMSealer
        var deflater: DeflaterBox?
        var payload: Int64 = 0
    }
    private struct Writing {
        var hash: IncrementalHash
        var written: Int64 = 0
        var digest: [UInt8] = []
    }

    private let sealing: Locked<Sealing>
    private let writing: Locked<Writing>
    private let file: any File
    private let batch: ObjectBatch
    let name: [UInt8]

    init(_ writer: BlobWriter, deflate: Bool) throws {
        batch = writer.batch
        let iv = try writer.random.bytes(12)
        let sealer = try writer.cipher.aead.makeSealer(iv: iv.span)
        let deflater = deflate ? try DeflaterBox() : nil
        (file, name) = try batch.begin()
        sealing = Locked(Sealing(sealer: sealer, deflater: deflater))
        writing = Locked(Writing(hash: try IncrementalHash()))
        try emit((deflate ? VaultCipher.deflateMagic : []) + iv)
    }

    var payloadSize: Int64 { sealing.withLock { $0.payload } }
    var writtenSize: Int64 { writing.withLock { $0.written } }
    var digest: [UInt8] { writing.withLock { $0.digest } }

    /// What a piece of the content becomes.
    func seal(_ plaintext: [UInt8]) throws -> [UInt8] {
        try sealing.withLock { state in
            guard let deflater = state.deflater else { return try Self.seal(plaintext, &state) }
            return try Self.seal(try deflater.update(plaintext.span), &state)
        }
    }

    /// What is left at the end, and the tag.
    func sealEnd() throws -> [UInt8] {
        try sealing.withLock { state in
            var rest: [UInt8] = []
            if let deflater = state.deflater { rest = try Self.seal(try deflater.finish(), &state) }
            return rest + (try state.sealer.finish())
        }
    }

    private static func seal(_ payload: [UInt8], _ state: inout Sealing) throws -> [UInt8] {
        guard !payload.isEmpty else { return [] }
        state.payload += Int64(payload.count)
        var sealed: [UInt8] = []
        try state.sealer.update(payload.span, into: &sealed)
        return sealed
    }

    /// Writes what was sealed.
    func emit(_ bytes: [UInt8]) throws {
        try writing.withLock { state in
            try state.hash.update(bytes.span)
            state.written += Int64(bytes.count)
            try attempt("cannot store a file") { () throws(Errno) in try file.write(bytes.span) }
        }
    }

    /// Everything was written.
    func end() throws {
        try writing.withLock { state in state.digest = try state.hash.finish() }
    }

    func abandon() {
        batch.discard(name)
    }
}

/// A deflater that can be kept in a structure.
private final class DeflaterBox {
    private var deflater: Deflater

    init() throws(VaultError) {
        deflater = try decoding("compressing") { () throws(FormatError) in try Deflater() }
    }

    func update(_ bytes: Span<UInt8>) throws(FormatError) -> [UInt8] {
        var output: [UInt8] = []
        try deflater.update(bytes, into: &output)
        return output
    }

    func finish() throws(FormatError) -> [UInt8] {
        var output: [UInt8] = []
        try deflater.finish(into: &output)
        return output
    }
}

/// A SHA-256 that can be kept in a structure.
final class IncrementalHash {
    private var hash: SHA256?

    init() throws(VaultError) {
        hash = try crypto("hashing") { () throws(CryptoError) in try SHA256() }
    }

    func update(_ bytes: Span<UInt8>) throws(VaultError) {
        do throws(CryptoError) { try hash?.update(bytes) } catch {
            throw VaultError(.internalError, "hashing failed", cause: error)
        }
    }

    func finish() throws(VaultError) -> [UInt8] {
        guard let finished = hash.take() else { throw VaultError(.internalError, "a hash was finished twice") }
        do throws(CryptoError) { return try finished.finish() } catch {
            throw VaultError(.internalError, "hashing failed", cause: error)
        }
    }
}

extension File {
    /// Reads until `limit` bytes or the end of the file.
    func read(fillingUpTo limit: Int, sizeHint: Int) throws(Errno) -> [UInt8] {
        var result = try read(upTo: min(max(sizeHint, 0), limit - 1) + 1)
        while result.count < limit {
            let more = try read(upTo: min(max(result.count, 4096), limit - result.count))
            if more.isEmpty { break }
            result.append(contentsOf: more)
        }
        return result
    }
}
