import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

/// The kept inputs of the fuzzer, and damaged forms of them, through every reader.
@Suite("Fuzzed readers")
struct FuzzTests {
    /// The inputs that the fuzzer kept for a reader; findings among them.
    private static func corpus(_ target: FuzzTarget) throws -> [[UInt8]] {
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let path = FilePath("\(folder)/Corpus/\(target.rawValue).txt")
        let text = try LinuxFileSystem().readFile(path, limit: 8 << 20)
        return try text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map { line in
            let bytes = Array(line)
            let decoded = Base64.decode(bytes.span)
            return try #require(decoded, "a line of \(path.text) is not base64")
        }
    }

    @Test("every kept input is read or refused", arguments: FuzzTarget.allCases)
    func keptInputs(_ target: FuzzTarget) throws {
        let inputs = try Self.corpus(target)
        #expect(!inputs.isEmpty)
        for bytes in inputs {
            do { try target.run(bytes) } catch { Issue.record("\(error): \(Base64.text(bytes.span))") }
        }
    }

    @Test("so is what becomes of them by damage", .timeLimit(.minutes(10)))
    func damagedInputs() throws {
        let random = SeededRandom.announced("fuzz")
        let tally = Tally("fuzz", seed: random.seed)
        let clock = SystemClock()
        let each = Campaign.number("VAULT_FUZZ_MS", short: 500, full: 20_000)
        for target in FuzzTarget.allCases {
            let inputs = try Self.corpus(target)
            let end = clock.monotonicNs + Int64(each) * 1_000_000
            while clock.monotonicNs < end {
                let bytes = Self.damaged(inputs, random)
                do { try target.run(bytes) } catch { tally.violation("\(error): \(Base64.text(bytes.span))") }
                tally.count("inputs")
            }
        }
        print(tally)
        #expect(tally.violations.isEmpty)
    }

    /// One kept input with bytes changed, cut out, doubled, or spliced with another.
    private static func damaged(_ inputs: [[UInt8]], _ random: SeededRandom) -> [UInt8] {
        var bytes = inputs[random.below(inputs.count)]
        for _ in 0...random.below(3) {
            let place = random.below(bytes.count + 1)
            let end = min(bytes.count, place + 1 + random.below(12))
            switch random.below(6) {
            case 0: bytes.removeSubrange(place..<end)
            case 1: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 2: bytes.insert(contentsOf: random.block(1 + random.below(3)), at: place)
            case 3: bytes = Array(bytes[..<place]) + inputs[random.below(inputs.count)].suffix(random.below(200))
            default:
                if place < bytes.count { bytes[place] ^= 1 << random.below(8) }
            }
        }
        return bytes
    }
}
