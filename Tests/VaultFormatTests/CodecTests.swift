import Testing
import VaultFormat
import VaultTestSupport

@Suite("Hex, base64, ids, deflate and the byte reader")
struct CodecTests {
    @Test("base64 of RFC 4648 section 10, both ways")
    func base64Examples() {
        let examples = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE=",
            "foobar": "Zm9vYmFy",
        ]
        for (plain, encoded) in examples {
            #expect(text(base64Encoded(utf8(plain))) == encoded)
            #expect(base64Decoded(utf8(encoded)) == utf8(plain))
        }
        #expect(text(base64Encoded([0xFB, 0xFF])) == "+/8=")
    }

    @Test("base64 that an encoder does not write is refused")
    func base64Strictness() {
        for bad in [
            "Z", "Zg", "Zg=", "Zg==\n", " Zg==", "Zh==", "Zm9=", "====", "Zg=a", "Z===", "Zm-_", "Zm9vZg==Zm9v", "é==",
        ] {
            #expect(base64Decoded(utf8(bad)) == nil, "\(bad)")
        }
    }

    @Test("hex is written in lower case and read in both")
    func hex() {
        #expect(hexText([0x00, 0x9A, 0xFF]) == "009aff")
        #expect(hexDecoded(utf8("009aFF")) == [0x00, 0x9A, 0xFF])
        #expect(hexDecoded(utf8("0")) == nil)
        #expect(hexDecoded(utf8("0g")) == nil)
    }

    @Test("any bytes come back from hex, base64 and zlib")
    func roundTrip() throws {
        let random = SeededRandom.announced("codecs")
        for _ in 0..<500 {
            let bytes = random.mixedBytes(upTo: 600)
            #expect(hexDecoded(utf8(hexText(bytes))) == bytes, "\(random)")
            #expect(base64Decoded(base64Encoded(bytes)) == bytes, "\(random)")
            #expect(try inflated(deflated(bytes), limit: bytes.count) == bytes, "\(random)")
        }
    }

    @Test("a stream deflated and inflated in pieces is the same stream")
    func streaming() throws {
        let random = SeededRandom.announced("deflate in pieces")
        let bytes = (0..<40).flatMap { _ in random.mixedBytes(upTo: 20_000) }
        var deflater = try Deflater()
        var stream: [UInt8] = []
        var offset = 0
        while offset < bytes.count {
            let piece = Array(bytes[offset..<min(bytes.count, offset + 1 + random.below(70_000))])
            try deflater.update(piece.span, into: &stream)
            offset += piece.count
        }
        try deflater.finish(into: &stream)
        #expect(try inflated(stream, limit: bytes.count) == bytes)
        var inflater = try Inflater(limit: bytes.count)
        var result: [UInt8] = []
        for start in stride(from: 0, to: stream.count, by: 777) {
            let piece = Array(stream[start..<min(stream.count, start + 777)])
            try inflater.update(piece.span, into: &result)
        }
        try inflater.finish()
        let produced = inflater.produced
        #expect(result == bytes)
        #expect(produced == bytes.count)
    }

    @Test("damaged, short and oversized streams are refused, bytes after the end are ignored")
    func badStreams() throws {
        let bytes = utf8(String(repeating: "abc", count: 1000))
        let stream = try deflated(bytes)
        #expect(try inflated(stream + utf8("junk"), limit: bytes.count) == bytes)
        #expect(failure { _ = try inflated(stream, limit: bytes.count - 1) } == .limitExceeded)
        #expect(failure { _ = try inflated(Array(stream.dropLast()), limit: bytes.count) } == .malformed)
        #expect(failure { _ = try inflated([], limit: 1) } == .malformed)
        #expect(failure { _ = try inflated(utf8("no zlib"), limit: 1) } == .malformed)
        #expect(failure { _ = try inflated(stream, limit: -1) } == .limitExceeded)
    }

    @Test("object ids are read at both widths, compared as texts, and nothing else is one")
    func objectIDs() throws {
        let texts = [
            "obj-cas-imm-000000000000", "obj-cas-imm-0123456789ab", "obj-cas-imm-0123456789ab0000000000000000000a",
            "obj-cas-imm-0123456789ab00000000000000000000", "obj-cas-imm-0123456789ac",
            "obj-cas-imm-fffffffffffffffffffffffffffffffe", "obj-cas-imm-ffffffffffff",
        ]
        let ids = try texts.map { try ObjectID($0) }
        #expect(ids.map(\.text) == texts)
        #expect(ids.map(\.hex) == texts.map { String($0.dropFirst(12)) })
        #expect(ids.sorted().map(\.text) == texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(ids).count == ids.count)
        for bad in [
            "", "obj-cas-imm-", "obj-cas-imm-0123456789AB", "obj-cas-imm-0123456789a", "obj-cas-imm-0123456789abc",
            "obj-cas-imx-0123456789ab", "obj-cas-imm-0123456789ag", " obj-cas-imm-0123456789ab",
            "obj-cas-imm-0123456789ab\n", "obj-cas-imm-../../x/y/zz",
        ] {
            #expect(failure { _ = try ObjectID(bad) } == .malformed, "\(bad)")
            #expect(failure { _ = try objectID(utf8(bad)) } == .malformed, "\(bad)")
        }
        #expect(try ObjectID(lenient: "\u{3000}OBJ-CAS-IMM-0123456789AB\n") == ids[1])
    }

    @Test("an id matches the digest it was made of, at its own width")
    func digests() throws {
        let digest = try hash(utf8("x"))
        for width in [IDWidth.short, .long] {
            let id = ObjectID(digest: digest, width: width)
            #expect(id.hex == hexText(digest).prefix(width.digits))
            #expect(id.matches(digest: digest))
            #expect(!id.matches(digest: Array(digest.reversed())))
            #expect(!id.matches(digest: []))
            #expect(try ObjectID(id.text) == id)
        }
        let hash = ContentHash(digest: digest)
        #expect(hash.hex == hexText(digest).prefix(12))
        #expect(try ContentHash(hex: hash.hex) == hash)
        #expect(contentHash(utf8("0123456789AB")) == nil)
        #expect(failure { _ = try ContentHash(hex: "0123") } == .malformed)
    }

    @Test("every kind of stored file has one path, and no other path names one")
    func fileIDs() throws {
        let paths = [
            "bare/data/obj-cas-imm-0123456789ab", "bare/refs/ref-pid-muw-0123456789ab",
            "bare/refs/ref-pid-snw-0123456789ab", "bare/indexes/idx-pid-muw-0123456789ab",
            "bare/keys/key-rnd-imm-0011223344556677", "bare/cache/value/cch-pid-snw-0123456789ab",
            "bare/cache/pointer/cch-pid-muw-0123456789ab",
        ]
        #expect(try paths.map { try FileID(path: $0).path } == paths)
        #expect(Set(try paths.map { try FileID(path: $0) }).count == paths.count)
        for bad in [
            "", "bare", "bare/data", "bare/data/", "bare/data/x", "data/obj-cas-imm-0123456789ab",
            "/bare/data/obj-cas-imm-0123456789ab", "bare/data/x/obj-cas-imm-0123456789ab",
            "bare//obj-cas-imm-0123456789ab", "bare/refs/obj-cas-imm-0123456789ab", "bare/data/../refs/x",
            "bare/cache/obj-cas-imm-0123456789ab", "bare/keys/key-rnd-imm-0011223",
            "bare/refs/ref-pid-muw-0123456789AB",
            "bare/cache/value/x/cch-pid-snw-0123456789ab", "bare/data/obj-cas-imm-0123456789ab/",
        ] {
            #expect(failure { _ = try FileID(path: bad) } == .malformed, "\(bad)")
        }
    }

    @Test("random ids have the shapes the reference reads")
    func randomIDs() throws {
        let random = SeededRandom(seed: 1)
        let key = try KeyID.random(using: random)
        #expect(key.text.utf8.count == "key-rnd-imm-".utf8.count + 16)
        #expect(try KeyID(key.text) == key)
        #expect(try BranchID.randomNamed(using: random).isNamed)
        #expect(try BranchID.randomClone(using: random).isClone)
        #expect(try RefID.random(.clone, using: random).text.hasPrefix("ref-pid-snw-"))
        #expect(try RefID.random(.named, using: random) != RefID.random(.named, using: random))
        #expect(failure { _ = try BranchID("branch-other-0011223344556677") } == .malformed)
        #expect(failure { _ = try RefID("ref-pid-muw-0123") } == .malformed)
        #expect(failure { _ = try IndexID("idx-pid-muw-0123456789abc") } == .malformed)
        #expect(failure { _ = try CacheID("cch-pid-xxx-0123456789ab") } == .malformed)
    }

    @Test("the byte reader never leaves its bytes")
    func byteReader() throws {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
        var reader = ByteReader(bytes.span)
        let first = try reader.uint16(bytes.span)
        #expect(first == 0x0201)
        let second = try reader.uint32(bytes.span)
        #expect(second == 0x0605_0403)
        #expect(failure { _ = try reader.uint32(bytes.span) } == .malformed)
        #expect(failure { _ = try reader.take(-1) } == .malformed)
        #expect(failure { _ = try reader.take(.max) } == .malformed)
        #expect(failure { try reader.seek(to: 10) } == .malformed)
        try reader.seek(to: 1)
        let third = try reader.uint64(bytes.span)
        #expect(third == 0x0908_0706_0504_0302)
        #expect(reader.remaining == 0)
        #expect(ByteReader(bytes.span, from: 20, to: 30).remaining == 0)
    }

    @Test("errors are equal by code, and say what was wrong")
    func errors() {
        #expect(FormatError.malformed("a") == FormatError.malformed("b"))
        #expect(FormatError.malformed("a") != FormatError.limit("a"))
    }
}
