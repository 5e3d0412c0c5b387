/// Which vaults this client may work with (06-packs-and-features §1).
package enum FormatGate {
    /// The version of the reference that this client is compatible with; vaults name the oldest client they allow.
    package static let compatibleVersion = "0.26.0"

    /// Three numbers of a version.
    package struct Version: Comparable, Sendable {
        let major: Int
        let minor: Int
        let patch: Int

        package static func < (lhs: Version, rhs: Version) -> Bool {
            (lhs.major, lhs.minor, lhs.patch) < (rhs.major, rhs.minor, rhs.patch)
        }

        var isZero: Bool { major == 0 && minor == 0 && patch == 0 }

        package var text: String { "\(major).\(minor).\(patch)" }
    }

    /// The version that a whole text spells; nil for any other text.
    package static func exactVersion(_ text: String) -> Version? {
        guard let (version, rest) = version(Array(text.utf8)[...]), rest.isEmpty else { return nil }
        return version
    }

    /// The version at the start of a client's own version text; a leading `v` and what follows do not count.
    package static func clientVersion(_ text: String) -> Version? {
        let bytes = Array(text.utf8)
        return version(bytes.first == 0x76 ? bytes.dropFirst() : bytes[...])?.version
    }

    /// The version a vault asks for at least, when `client` is older than that; nil when the gate is open.
    package static func refusedBelow(minClient: String?, client: String = compatibleVersion) -> Version? {
        guard let minClient, let needed = exactVersion(minClient), !needed.isZero,
            let have = clientVersion(client), !have.isZero, have < needed
        else { return nil }
        return needed
    }

    private static func version(_ text: ArraySlice<UInt8>) -> (version: Version, rest: ArraySlice<UInt8>)? {
        var rest = text
        var numbers: [Int] = []
        for index in 0..<3 {
            if index > 0 {
                guard rest.first == 0x2E else { return nil }
                rest = rest.dropFirst()
            }
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty, let number = Int(String(decoding: digits, as: UTF8.self)) else { return nil }
            numbers.append(number)
            rest = rest[digits.endIndex...]
        }
        return (Version(major: numbers[0], minor: numbers[1], patch: numbers[2]), rest)
    }
}

/// Names of features a vault's index may list (06-packs-and-features §1.2).
package enum Feature {
    package static let longIDs = "ids-128"
    package static let signaturesRequired = "signatures-required"
    package static let blobDeflate = "blob-deflate"
    package static let packs = "packs"
    package static let packIndexes = "pack-indexes"
    private static let signedSince = "signed-since-"

    /// The feature that records where the signature policy begins: up to 24 hex digits of the head at that time.
    package static func anchor(head: ObjectID?) -> String? {
        head.map { signedSince + $0.hex.prefix(24) }
    }

    /// The hex digits of the first anchor in `features`; nil when it has none or they are not 12–24.
    package static func anchorDigits(in features: [String]) -> String? {
        guard let feature = features.first(where: { $0.hasPrefix(signedSince) }) else { return nil }
        let digits = feature.dropFirst(signedSince.count)
        guard (12...24).contains(digits.utf8.count), digits.utf8.allSatisfy({ Hex.lowerValue($0) != nil }) else {
            return nil
        }
        return String(digits)
    }

    /// Whether `text` can be a feature's name: `[a-z0-9][a-z0-9-]{0,39}`.
    package static func isValid(_ text: String) -> Bool {
        let bytes = text.utf8
        return (1...40).contains(bytes.count) && bytes.first != 0x2D
            && bytes.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }
}
