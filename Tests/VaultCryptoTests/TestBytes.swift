import Glibc
import VaultCrypto
import VaultTestSupport

/// A vector file that could not be opened.
struct MissingFile: Error {
    let name: String
}

extension [UInt8] {
    /// The bytes of a text of hex digits; nil unless it is one.
    init?(hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count % 2 == 0 else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            append(byte)
        }
    }

    /// The content of a file under `TestVectors`.
    init(vectorFile path: String) throws {
        let name = Vectors.root + "/" + path
        // unsafe: plain C calls on a handle that is closed in this scope.
        guard let file = unsafe fopen(name, "rb") else { throw MissingFile(name: name) }
        defer { unsafe fclose(file) }
        self = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = unsafe fread(&part, 1, part.count, file), count > 0 {
            append(contentsOf: part[..<count])
        }
    }
}

extension Collection<UInt8> {
    /// The bytes as lower-case hex digits.
    var hex: String {
        reduce(into: "") { text, byte in
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}

/// The bytes of a hex literal in a test; an empty array, which no expectation wants, if it is not one.
func hex(_ text: String) -> [UInt8] {
    [UInt8](hex: text) ?? []
}

/// The bytes of a secret, taken out for a comparison.
func revealed(_ secret: borrowing SecretBytes) -> [UInt8] {
    secret.withBytes { bytes in bytes.indices.map { bytes[$0] } }
}

/// What a call throws as a code; nil if it throws nothing.
func errorCode(_ body: () throws -> Void) -> CryptoError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? CryptoError)?.code
    }
}

/// Reproducible random numbers (SplitMix64).
///
/// The seed is new in every run, or that of `VAULT_SEED`, and is printed.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(for name: String) {
        let wanted = unsafe getenv("VAULT_SEED").flatMap { unsafe UInt64(String(cString: $0)) }
        seed = wanted ?? UInt64.random(in: 0...UInt64.max)
        state = seed
        print("\(name): VAULT_SEED=\(seed)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
