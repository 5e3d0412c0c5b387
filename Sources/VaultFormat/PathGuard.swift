/// Which path segments a vault may never touch: the store itself, git's, and backups (03-clone-layout §8).
///
/// A segment counts as protected however a file system might read it: with letters of either case, compatibility
/// letters, invisible characters, trailing dots or blanks, a stream name after a colon, or as a short name.
package enum PathGuard {
    /// Whether any segment of `path`, split at slashes and backslashes, is protected.
    package static func isProtected(_ path: Span<UInt8>) -> Bool {
        var start = 0
        for index in path.indices where path[index] == 0x2F || path[index] == 0x5C {
            if isProtectedSegment(path.extracting(start..<index)) { return true }
            start = index + 1
        }
        return isProtectedSegment(path.extracting(start...))
    }

    /// Whether one segment, without slashes of either kind, is protected.
    package static func isProtectedSegment(_ segment: Span<UInt8>) -> Bool {
        // All protected names begin with one of these once the invisible is gone; most segments end here.
        guard mayBeProtected(segment) else { return false }
        let raw = UTF8Text.scalars(segment)
        return matches(raw) || matches(canonical(raw))
    }

    private static func mayBeProtected(_ segment: Span<UInt8>) -> Bool {
        guard !segment.isEmpty else { return false }
        var hasUnderscores = false
        for index in segment.indices {
            let byte = segment[index]
            if byte >= 0x80 { return true }
            if byte == 0x5F, index > 0, segment[index - 1] == 0x5F { hasUnderscores = true }
        }
        switch segment[0] {
        case 0x2E, 0x47, 0x67, 0x53, 0x73: return true
        default: return hasUnderscores
        }
    }

    /// The segment as the laxest file system would read it.
    private static func canonical(_ segment: [UInt32]) -> [UInt32] {
        var result: [UInt32] = []
        result.reserveCapacity(segment.count)
        scalars: for scalar in segment {
            switch scalar {
            case 0xAD, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x2064, 0x206A...0x206F, 0xFEFF: continue
            case 0x3A: break scalars
            case 0x41...0x5A: result.append(scalar | 0x20)
            case ..<0x80: result.append(scalar)
            default: result.append(contentsOf: foldedToASCII[scalar] ?? [scalar])
            }
        }
        while let last = result.last, last == 0x2E || last == 0x20 { result.removeLast() }
        return result
    }

    /// The only code points above U+007F that become ASCII under NFC, full case folding or upper- then lower-casing.
    private static let foldedToASCII: [UInt32: [UInt32]] = [
        0xDF: ascii("ss"), 0x131: ascii("i"), 0x17F: ascii("s"), 0x37E: ascii(";"), 0x1E9E: ascii("ss"),
        0x1FEF: ascii("`"), 0x212A: ascii("k"), 0xFB00: ascii("ff"), 0xFB01: ascii("fi"), 0xFB02: ascii("fl"),
        0xFB03: ascii("ffi"), 0xFB04: ascii("ffl"), 0xFB05: ascii("st"), 0xFB06: ascii("st"),
    ]

    private static func ascii(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

    private static let exact: [[UInt32]] = [".git", ".sg_vault", ".sg_vault_new"].map(ascii)
    private static let oldStore = ascii(".sg_vault_old_")
    private static let vaultBackup = ascii(".vault__")
    private static let zipEndings: [[UInt32]] = [".zip", ".zip.sha256", ".zip.manifest.json"].map(ascii)

    private static func matches(_ segment: [UInt32]) -> Bool {
        exact.contains(segment) || segment.starts(with: oldStore) || isShortName(segment) || isVaultBackup(segment)
            || isDatedBackup(segment)
    }

    /// `git~1`, `sg_vau~1`, `sg1a2b~1`: what FAT makes of the protected names.
    private static func isShortName(_ segment: [UInt32]) -> Bool {
        guard let tilde = segment.lastIndex(of: 0x7E) else { return false }
        let stem = segment[..<tilde]
        let digits = segment[(tilde + 1)...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        if stem.elementsEqual(ascii("git")) || stem.elementsEqual(ascii("sg_vau")) { return true }
        return stem.count == 6 && stem.starts(with: ascii("sg"))
            && stem.dropFirst(2).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// `.vault__….zip`, possibly with the ending of a file beside it.
    private static func isVaultBackup(_ segment: [UInt32]) -> Bool {
        guard segment.starts(with: vaultBackup), !segment.contains(0x0A) else { return false }
        return zipEndings.contains { ending in
            segment.count >= vaultBackup.count + ending.count && segment.suffix(ending.count).elementsEqual(ending)
        }
    }

    /// `<vault id>__YYYY-MM-DDThh-mm-ssz__<label>.zip`, possibly with the ending of a file beside it.
    private static func isDatedBackup(_ segment: [UInt32]) -> Bool {
        let id = segment.prefix { isAlphanumeric($0) }
        guard (4...24).contains(id.count) else { return false }
        var rest = segment[id.endIndex...]
        for expected in ascii("__0000-00-00t00-00-00z__") {
            guard let scalar = rest.first, expected == 0x30 ? isDigit(scalar) : scalar == expected else { return false }
            rest = rest.dropFirst()
        }
        let label = rest.prefix { isAlphanumeric($0) || $0 == 0x5F || $0 == 0x2D }
        guard !label.isEmpty else { return false }
        return zipEndings.contains { rest[label.endIndex...].elementsEqual($0) }
    }

    private static func isAlphanumeric(_ scalar: UInt32) -> Bool {
        (0x61...0x7A).contains(scalar) || (0x30...0x39).contains(scalar)
    }

    /// A decimal digit of any script.
    private static func isDigit(_ scalar: UInt32) -> Bool {
        if scalar < 0x80 { return (0x30...0x39).contains(scalar) }
        return Unicode.Scalar(scalar)?.properties.generalCategory == .decimalNumber
    }
}
