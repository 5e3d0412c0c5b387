import COpenSSL
import Testing

@testable import VaultCrypto

@Suite struct AESGCMTests {
    private let key = [UInt8](repeating: 0x42, count: 32)
    private let iv = [UInt8](repeating: 0x24, count: 12)
    private let nothing: [UInt8] = []

    @Test func `gives the ciphertexts of the GCM paper for 256-bit keys`() throws {
        // McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 13 and 14.
        let zeroKey = [UInt8](repeating: 0, count: 32)
        let zeroIV = [UInt8](repeating: 0, count: 12)
        let aead = try AESGCM(key: zeroKey.span)
        let empty = try aead.seal(nothing.span, iv: zeroIV.span)
        #expect(empty == zeroIV + hex("530f8afbc74536b9a963b4f1c4cb738b"))
        let block = [UInt8](repeating: 0, count: 16)
        #expect(
            try aead.seal(block.span, iv: zeroIV.span)
                == zeroIV + hex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000, 1 << 20])
    func `opens what it sealed, and adds 28 bytes`(count: Int) throws {
        let aead = try AESGCM(key: key.span)
        let plaintext = [UInt8](repeating: 9, count: count)
        let sealed = try aead.seal(plaintext.span, iv: iv.span)
        #expect(sealed.count == count + 28)
        #expect(Array(sealed.prefix(12)) == iv)
        #expect(try aead.open(sealed.span) == plaintext)
    }

    @Test(arguments: [0, 1, 5, 100])
    func `leaves zero bytes in front when asked to`(prefix: Int) throws {
        let aead = try AESGCM(key: key.span)
        let plain = try aead.seal([1, 2, 3].span, iv: iv.span)
        let prefixed = try aead.seal([1, 2, 3].span, iv: iv.span, prefix: prefix)
        #expect(prefixed == [UInt8](repeating: 0, count: prefix) + plain)
    }

    @Test func `additional data is bound to the message`() throws {
        let aead = try AESGCM(key: key.span)
        let sealed = try aead.seal([1, 2, 3].span, iv: iv.span, aad: [7].span)
        #expect(try aead.open(sealed.span, aad: [7].span) == [1, 2, 3])
        #expect(errorCode { _ = try aead.open(sealed.span, aad: [8].span) } == .authenticationFailed)
        #expect(errorCode { _ = try aead.open(sealed.span) } == .authenticationFailed)
        let none = try aead.seal([1, 2, 3].span, iv: iv.span)
        let opened = try aead.open(none.span, aad: nothing.span)
        #expect(opened == [1, 2, 3])
    }

    @Test func `a change of any one bit is noticed`() throws {
        let aead = try AESGCM(key: key.span)
        let sealed = try aead.seal([UInt8](repeating: 1, count: 20).span, iv: iv.span)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(errorCode { _ = try aead.open(changed.span) } == .authenticationFailed, "bit \(bit)")
        }
        // The context that has just refused is used again and still works.
        #expect(try aead.open(sealed.span) == [UInt8](repeating: 1, count: 20))
    }

    @Test func `another key does not open it`() throws {
        let sealed = try AESGCM(key: key.span).seal([1].span, iv: iv.span)
        let other = try AESGCM(key: [UInt8](repeating: 0x43, count: 32).span)
        #expect(errorCode { _ = try other.open(sealed.span) } == .authenticationFailed)
    }

    @Test(arguments: [0, 1, 16, 24, 31, 33, 64])
    func `keys of other lengths are refused`(count: Int) {
        #expect(errorCode { _ = try AESGCM(key: [UInt8](repeating: 1, count: count).span) } == .invalidKey)
    }

    @Test(arguments: [0, 1, 11, 13, 16])
    func `IVs of other lengths are refused`(count: Int) throws {
        let aead = try AESGCM(key: key.span)
        let wrong = [UInt8](repeating: 1, count: count)
        #expect(errorCode { _ = try aead.seal([1].span, iv: wrong.span) } == .invalidLength)
        #expect(errorCode { _ = try aead.makeSealer(iv: wrong.span) } == .invalidLength)
        #expect(errorCode { _ = try aead.makeOpener(iv: wrong.span) } == .invalidLength)
    }

    @Test(arguments: 0..<28)
    func `what is too short to hold an IV and a tag is refused`(count: Int) throws {
        let aead = try AESGCM(key: key.span)
        #expect(errorCode { _ = try aead.open([UInt8](repeating: 1, count: count).span) } == .invalidLength)
    }

    @Test func `a negative prefix is refused`() throws {
        let aead = try AESGCM(key: key.span)
        #expect(errorCode { _ = try aead.seal([1].span, iv: iv.span, prefix: -1) } == .invalidParameter)
    }

    @Test func `sealing and opening in turn do not disturb each other`() throws {
        var random = SeededGenerator(for: "AESGCMTests")
        let aead = try AESGCM(key: key.span)
        var kept: [(sealed: [UInt8], plain: [UInt8])] = []
        for _ in 0..<500 {
            if Bool.random(using: &random), let (sealed, plain) = kept.randomElement(using: &random) {
                #expect(try aead.open(sealed.span) == plain, "seed \(random.seed)")
            } else {
                let plain = random.bytes(Int.random(in: 0...200, using: &random))
                let iv = random.bytes(12)
                let sealed = try aead.seal(plain.span, iv: iv.span)
                // A fresh value, with a context that has seen nothing yet, agrees.
                #expect(try AESGCM(key: key.span).seal(plain.span, iv: iv.span) == sealed, "seed \(random.seed)")
                kept.append((sealed, plain))
            }
        }
    }

    @Test func `one value serves many threads at once`() async throws {
        let aead = try AESGCM(key: key.span)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 {
                group.addTask {
                    let plain = [UInt8](repeating: UInt8(number), count: 1000 + number)
                    let iv = [UInt8](repeating: UInt8(number), count: 12)
                    let expected = try aead.seal(plain.span, iv: iv.span)
                    for _ in 0..<200 {
                        let sealed = try aead.seal(plain.span, iv: iv.span)
                        #expect(sealed == expected)
                        #expect(try aead.open(sealed.span) == plain)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a failure leaves OpenSSL's error queue empty`() throws {
        let aead = try AESGCM(key: key.span)
        #expect(errorCode { _ = try aead.open([UInt8](repeating: 1, count: 40).span) } == .authenticationFailed)
        #expect(ERR_peek_error() == 0)
    }
}
