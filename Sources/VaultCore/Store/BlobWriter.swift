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
    private static let largeThreshold: Int64 = 4 << 20
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
            isLarge: Int64(sealed.count) > Self.largeThreshold, digest: digest)
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

    /// Encrypts what was read already and the rest of a file.
    ///
    /// One pass: the reader hashes the plaintext on one core while the other encrypts, hashes and writes.
    func store(head: [UInt8], rest file: any File) throws -> StoredBlob {
        var encoders = [try BlobEncoder(self, deflate: false)]
        if deflates { encoders.append(try BlobEncoder(self, deflate: true)) }
        let channel = Channel<[UInt8]>(capacity: 4)
        let sinks = encoders
        do {
            let (plain, _) = try WorkerPool.concurrently(
                { () throws -> (digest: [UInt8], size: Int64) in
                    defer { channel.finish() }
                    var hash = try SHA256()
                    var size: Int64 = 0
                    var chunk = head
                    if chunk.isEmpty { chunk = try file.read(upTo: Self.chunk) }
                    while !chunk.isEmpty {
                        size += Int64(chunk.count)
                        guard size <= Self.messageLimit else {
                            throw VaultError(
                                .notSupported, "a file of more than \(Self.messageLimit) bytes can not be one blob")
                        }
                        try batch.pool.checkCancellation()
                        guard channel.send(chunk) else { break }
                        try hash.update(chunk.span)
                        chunk = try file.read(upTo: Self.chunk)
                    }
                    return (try hash.finish(), size)
                },
                { () throws -> Void in
                    defer { channel.cancel() }
                    while let chunk = channel.receive() {
                        for encoder in sinks { try encoder.update(chunk) }
                    }
                    for encoder in sinks { try encoder.finish() }
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
            isLarge: size > Self.largeThreshold, digest: plain.digest)
    }
}

/// One encrypted form of a file on its way to the disk.
///
/// Used by one thread at a time.
private final class BlobEncoder: Sendable {
    private struct State {
        var sealer: AESGCMSealer
        var hash: IncrementalHash
        var deflater: DeflaterBox?
        var buffer: [UInt8] = []
        var payload: Int64 = 0
        var written: Int64 = 0
        var digest: [UInt8] = []
    }

    private let state: Locked<State>
    private let file: any File
    private let batch: ObjectBatch
    let name: [UInt8]

    init(_ writer: BlobWriter, deflate: Bool) throws {
        batch = writer.batch
        let iv = try writer.random.bytes(12)
        let sealer = try writer.cipher.aead.makeSealer(iv: iv.span)
        let deflater = deflate ? try DeflaterBox() : nil
        (file, name) = try batch.begin()
        state = Locked(State(sealer: sealer, hash: try IncrementalHash(), deflater: deflater))
        let prefix = (deflate ? VaultCipher.deflateMagic : []) + iv
        try state.withLock { try emit(prefix, &$0) }
    }

    var payloadSize: Int64 { state.withLock { $0.payload } }
    var writtenSize: Int64 { state.withLock { $0.written } }
    var digest: [UInt8] { state.withLock { $0.digest } }

    func update(_ plaintext: [UInt8]) throws {
        try state.withLock { state in
            if let deflater = state.deflater {
                try seal(try deflater.update(plaintext.span), &state)
            } else {
                try seal(plaintext, &state)
            }
        }
    }

    func finish() throws {
        try state.withLock { state in
            if let deflater = state.deflater { try seal(try deflater.finish(), &state) }
            try emit(try state.sealer.finish(), &state)
            state.digest = try state.hash.finish()
        }
    }

    func abandon() {
        batch.discard(name)
    }

    private func seal(_ payload: [UInt8], _ state: inout State) throws {
        guard !payload.isEmpty else { return }
        state.payload += Int64(payload.count)
        try state.sealer.update(payload.span, into: &state.buffer)
        try emit(state.buffer, &state)
    }

    private func emit(_ bytes: [UInt8], _ state: inout State) throws {
        try state.hash.update(bytes.span)
        state.written += Int64(bytes.count)
        try attempt("cannot store a file") { () throws(Errno) in try file.write(bytes.span) }
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
