import Testing

@testable import VaultCrypto

@Suite struct AESGCMStreamingTests {
    private let key = [UInt8](repeating: 0x42, count: 32)
    private let iv = [UInt8](repeating: 0x24, count: 12)

    /// Cuts bytes into pieces of random lengths, some of them empty.
    private func pieces(of bytes: [UInt8], _ random: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 0...300, using: &random)))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    @Test func `pieces of any length give what one call gives, both ways`() throws {
        var random = SeededGenerator(for: "AESGCMStreamingTests")
        let aead = try AESGCM(key: key.span)
        for _ in 0..<300 {
            let plaintext = random.bytes(Int.random(in: 0...2000, using: &random))
            let iv = random.bytes(12)
            let sealer = try aead.makeSealer(iv: iv.span)
            var (buffer, sealed): ([UInt8], [UInt8]) = ([], iv)
            for piece in pieces(of: plaintext, &random) {
                try sealer.update(piece.span, into: &buffer)
                #expect(buffer.count == piece.count)
                sealed += buffer
            }
            let ciphertext = Array(sealed.dropFirst(12))
            let tag = try sealer.finish()
            #expect(try aead.seal(plaintext.span, iv: iv.span) == sealed + tag, "seed \(random.seed)")

            let opener = try aead.makeOpener(iv: iv.span)
            var opened: [UInt8] = []
            for piece in pieces(of: ciphertext, &random) {
                try opener.update(piece.span, into: &buffer)
                opened += buffer
            }
            try opener.finish(tag: tag.span)
            #expect(opened == plaintext, "seed \(random.seed)")
        }
    }

    @Test func `a wrong tag is refused at the end`() throws {
        let aead = try AESGCM(key: key.span)
        let sealed = try aead.seal([1, 2, 3].span, iv: iv.span)
        let tag = Array(sealed.suffix(16))
        for bit in 0..<128 {
            var wrong = tag
            wrong[bit / 8] ^= 1 << (bit % 8)
            let opener = try aead.makeOpener(iv: iv.span)
            var buffer: [UInt8] = []
            try opener.update(sealed.span.extracting(12..<15), into: &buffer)
            #expect(errorCode { try opener.finish(tag: wrong.span) } == .authenticationFailed)
        }
    }

    @Test(arguments: [0, 1, 4, 12, 15, 17])
    func `tags of other lengths are refused, also where they are a part of the right one`(count: Int) throws {
        let aead = try AESGCM(key: key.span)
        let tag = try aead.makeSealer(iv: iv.span).finish()
        let opener = try aead.makeOpener(iv: iv.span)
        #expect(errorCode { try opener.finish(tag: Array((tag + [0]).prefix(count)).span) } == .invalidLength)
    }

    @Test func `nothing more is taken after the end`() throws {
        let aead = try AESGCM(key: key.span)
        var buffer: [UInt8] = []
        let sealer = try aead.makeSealer(iv: iv.span)
        let tag = try sealer.finish()
        #expect(errorCode { try sealer.update([1].span, into: &buffer) } == .invalidParameter)
        #expect(errorCode { _ = try sealer.finish() } == .invalidParameter)
        let opener = try aead.makeOpener(iv: iv.span)
        try opener.finish(tag: tag.span)
        #expect(errorCode { try opener.update([1].span, into: &buffer) } == .invalidParameter)
        #expect(errorCode { try opener.finish(tag: tag.span) } == .invalidParameter)
    }

    @Test func `the output buffer keeps its memory from piece to piece`() throws {
        let sealer = try AESGCM(key: key.span).makeSealer(iv: iv.span)
        var buffer: [UInt8] = []
        buffer.reserveCapacity(4096)
        let before = unsafe buffer.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        for count in [4096, 10, 4096, 0, 1] {
            try sealer.update([UInt8](repeating: 1, count: count).span, into: &buffer)
            #expect(buffer.count == count)
        }
        let after = unsafe buffer.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        #expect(before == after)
    }

    @Test func `a message that is given up does not disturb the next one`() throws {
        let aead = try AESGCM(key: key.span)
        let expected = try aead.seal([5, 6].span, iv: iv.span)
        for _ in 0..<20 {
            var buffer: [UInt8] = []
            let (sealer, opener) = (try aead.makeSealer(iv: iv.span), try aead.makeOpener(iv: iv.span))
            try sealer.update([1, 2, 3].span, into: &buffer)
            try opener.update([1, 2, 3].span, into: &buffer)
        }
        #expect(try aead.seal([5, 6].span, iv: iv.span) == expected)
        #expect(try aead.open(expected.span) == [5, 6])
    }

    @Test func `a message ends where the counter of GCM would repeat`() throws {
        // NIST SP 800-38D §5.2.1.1: at most 2^39 - 256 bits.
        #expect(GCMMessage.maximumCount == ((1 << 39) - 256) / 8)
        let pool = try CipherContextPool(key: key.span)
        let limit = GCMMessage.maximumCount
        var buffer = [UInt8](repeating: 0, count: 100)
        for (processed, count, fits) in [(limit - 100, 100, true), (limit - 99, 100, false), (limit, 1, false)] {
            var message = try GCMMessage(.seal, pool: pool, iv: iv.span)
            message.processed = processed
            let input = [UInt8](repeating: 1, count: count)
            let code: CryptoError.Code?
            do throws(CryptoError) {
                // unsafe: the buffer is at least as long as the input.
                try unsafe buffer.withUnsafeMutableBufferPointer { target throws(CryptoError) in
                    if let start = target.baseAddress { try unsafe message.update(input.span, into: start) }
                }
                code = nil
            } catch {
                code = error.code
            }
            #expect(code == (fits ? nil : .invalidLength))
        }
    }
}
