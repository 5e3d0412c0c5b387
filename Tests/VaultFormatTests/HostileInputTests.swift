import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

/// Whatever comes in, a reader gives a value or an error; what it gives can be written and read again.
@Suite("Hostile input")
struct HostileInputTests {
    /// A good input and the reader it is for.
    private struct Sample: Sendable {
        let kind: String
        let bytes: [UInt8]
        let read: @Sendable ([UInt8]) throws -> Void
    }

    private static func samples() throws -> [Sample] {
        let file = try VectorFile("objects.json")
        let cipher = try VaultFormatTests.cipher(try file.root.hex("read_key"))
        var samples: [Sample] = []
        func add(_ kind: String, _ bytes: [UInt8], _ read: @escaping @Sendable ([UInt8]) throws -> Void) {
            samples.append(Sample(kind: kind, bytes: bytes, read: read))
        }
        for row in try file.rows("trees", count: 13) {
            for tree in try #require(row["trees"]?.items) {
                add("tree", try tree.utf8("plaintext")) { bytes in
                    let tree = try TreeObject.decode(bytes, cipher: cipher)
                    guard let again = try? tree.encode(cipher: cipher) else { return }
                    let sorted = tree.entries.sorted { $0.precedes($1) }
                    // An empty content type is filled in on writing.
                    let isComplete = sorted.allSatisfy { $0.file?.contentType.isEmpty != true }
                    if isComplete { #expect(try TreeObject.decode(again, cipher: cipher).entries == sorted) }
                }
                add("envelope", try tree.base64("ciphertext_b64")) { _ = try cipher.open($0, limit: 1 << 20) }
            }
        }
        for row in try file.rows("commits", count: 19) {
            add("commit", try row.utf8("plaintext")) { bytes in
                let commit = try CommitObject.decode(bytes)
                #expect(try CommitObject.decode(commit.encode()) == commit)
                _ = commit.signingBytes() + commit.legacySigningBytes()
            }
        }
        for row in try file.rows("indexes", count: 4) {
            add("index", try row.utf8("plaintext")) { bytes in
                let index = try BranchIndex.decode(bytes)
                #expect(try BranchIndex.decode(index.encode()) == index)
                let merged = BranchIndex.merged(local: index, remote: index, nowMs: .max)
                #expect(BranchIndex.merged(local: merged, remote: index, nowMs: .max) == merged)
            }
        }
        for row in try file.rows("refs", count: 2) {
            add("ref", try row.utf8("plaintext")) { bytes in
                let id = try RefObject.decode(bytes)
                #expect(try RefObject.decode(RefObject.encode(id)) == id)
            }
        }
        for row in try file.rows("key_objects", count: 2) {
            add("key", try row.utf8("plaintext")) { bytes in
                let pem = try KeyObject.decode(bytes)
                #expect(try KeyObject.decode(KeyObject.encode(pem: pem)) == pem)
            }
        }
        for row in try file.rows("tags", count: 3) {
            add("tag", try row.utf8("plaintext")) { bytes in
                let tag = try TagObject.decode(bytes)
                #expect(try TagObject.decode(tag.encode()) == tag)
            }
        }
        for row in try file.rows("cache", count: 2) {
            add("cache", try row.utf8("plaintext")) { bytes in
                let object = try CacheObject.decode(bytes)
                #expect(try CacheObject.decode(object.encode()) == object)
            }
        }
        samples += try otherSamples(cipher)
        return samples
    }

    private static func otherSamples(_ cipher: VaultCipher) throws -> [Sample] {
        let file = try VectorFile("extra.json")
        var samples: [Sample] = []
        for row in try file.rows("zips", count: 48).prefix(42) {
            samples.append(
                Sample(kind: "zip", bytes: try row.base64("content_b64")) { _ = SecretScan.secretEntry(in: $0) })
        }
        for row in try file.rows("ignore", count: 400).prefix(30) {
            samples.append(
                Sample(kind: "ignore", bytes: try row.utf8("gitignore")) { bytes in
                    let rules = try IgnoreRules(gitignore: bytes)
                    _ = rules.ignoresFile(utf8("a/b/ab")) || rules.ignoresFolder(bytes)
                })
        }
        for row in try file.rows("paths", count: 700).prefix(60) {
            samples.append(
                Sample(kind: "path", bytes: try row.utf8("path")) { bytes in
                    let path = try VaultPath(bytes)
                    #expect(try VaultPath(path.bytes) == path)
                    #expect(!VaultPath.isProtected(path.bytes))
                    _ = path.description + ContentType.guess(name: path.lastSegment)
                })
        }
        for row in try VectorFile("keys.json").rows("clone_argument_routing", count: 17) {
            samples.append(
                Sample(kind: "key text", bytes: try row.utf8("argument")) { bytes in
                    _ = try AccessKey.routing(argument: bytes.span, readKey: nil)
                })
        }
        let blob = try cipher.sealBlob([UInt8](repeating: 7, count: 900), deflate: true, random: SeededRandom(seed: 2))
        samples.append(Sample(kind: "envelope 2", bytes: blob) { _ = try cipher.open($0, limit: 2_000) })
        let stream = try deflated(utf8(String(repeating: "hostile ", count: 200)))
        samples.append(Sample(kind: "zlib", bytes: stream) { _ = try inflated($0, limit: 100_000) })
        return samples
    }

    @Test("every good sample is read")
    func goodSamples() throws {
        let samples = try Self.samples()
        #expect(samples.count > 250)
        for sample in samples where !["path", "key", "key text", "commit"].contains(sample.kind) {
            #expect(failure { try sample.read(sample.bytes) } == nil, "\(sample.kind)")
        }
    }

    @Test("no truncation of any sample does harm")
    func truncations() throws {
        for sample in try Self.samples() {
            let step = max(1, sample.bytes.count / 60)
            for count in stride(from: 0, to: sample.bytes.count, by: step) {
                _ = failure { try sample.read(Array(sample.bytes.prefix(count))) }
                _ = failure { try sample.read(Array(sample.bytes.suffix(count))) }
            }
        }
    }

    @Test("30,000 damaged samples do no harm", .timeLimit(.minutes(3)), arguments: 0..<6)
    func mutations(part: Int) throws {
        let random = SeededRandom.announced("mutations \(part)")
        let samples = try Self.samples()
        for _ in 0..<5_000 {
            let sample = samples[random.below(samples.count)]
            let bytes = random.damaged(sample.bytes)
            _ = failure { try sample.read(bytes) }
        }
    }

    @Test("noise is read by no reader, and does no harm")
    func noise() throws {
        let random = SeededRandom.announced("noise")
        let samples = try Self.samples()
        for _ in 0..<3_000 {
            let sample = samples[random.below(samples.count)]
            let bytes = random.block(random.below(300))
            _ = failure { try sample.read(bytes) }
        }
    }
}

extension SeededRandom {
    /// `bytes` with one to six changes of the kinds that break parsers.
    fileprivate func damaged(_ bytes: [UInt8]) -> [UInt8] {
        let tokens = [
            "null", "true", "-1", "1e999", "99999999999999999999", "9223372036854775807", "-9223372036854775808", "\"",
            "\\", "{", "}", "[", "]", ",", ":", "\\ud800", "\u{0}", "[[[[[[[[", "\"\"", "obj-cas-imm-", "../", "é",
            "[]",
            "{}", "\\u0000", "2026-01-01T00:00:00Z",
        ]
        var result = bytes
        for _ in 0...below(6) {
            let place = below(result.count + 1)
            switch below(7) {
            case 0 where !result.isEmpty: result[min(place, result.count - 1)] ^= 1 << UInt8(below(8))
            case 1 where !result.isEmpty: result[min(place, result.count - 1)] = UInt8(below(256))
            case 2: result.insert(contentsOf: utf8(tokens[below(tokens.count)]), at: place)
            case 3: result.removeSubrange(place..<min(result.count, place + below(12)))
            case 4: result.insert(contentsOf: result[place..<min(result.count, place + below(40))], at: place)
            case 5: replaceValue(in: &result, after: place, with: tokens[below(tokens.count)])
            default: result.insert(UInt8(below(256)), at: place)
            }
        }
        return result
    }

    /// Replaces what stands between the next colon and comma: keeps the JSON well-formed more often than other damage.
    private func replaceValue(in bytes: inout [UInt8], after place: Int, with token: String) {
        guard let colon = bytes[place...].firstIndex(of: 0x3A) else { return }
        let end = bytes[colon...].firstIndex { $0 == 0x2C || $0 == 0x7D } ?? bytes.endIndex
        bytes.replaceSubrange((colon + 1)..<end, with: utf8(token))
    }
}
