package import VaultCrypto
internal import VaultSystem

/// A repeatable source of random bytes and numbers: the same seed gives the same sequence.
package final class SeededRandom: RandomSource, RandomNumberGenerator, CustomStringConvertible {
    /// What to hand to `init(seed:)` to see the same run again.
    package let seed: UInt64
    private let state: Locked<UInt64>

    package init(seed: UInt64) {
        self.seed = seed
        self.state = Locked(seed)
    }

    /// A source whose seed is that of `VAULT_SEED` when set, and printed for whoever must repeat the run.
    package static func announced(_ label: String) -> SeededRandom {
        let given = ProcessContext.environmentText("VAULT_SEED").flatMap { UInt64($0) }
        let random = SeededRandom(seed: given ?? UInt64.random(in: 0..<UInt64.max))
        print("\(label): VAULT_SEED=\(random.seed)")
        return random
    }

    package var description: String { "VAULT_SEED=\(seed)" }

    package func next() -> UInt64 {
        // SplitMix64: every seed gives a full-period sequence.
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    package func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        let drawn = block(count)
        NonceDraws.note(drawn)
        return drawn
    }

    /// Random bytes, without the error that only a real source can give.
    package func block(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            let word = next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// A number below `bound`, for choices in tests.
    package func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(next() % UInt64(bound))
    }
}
