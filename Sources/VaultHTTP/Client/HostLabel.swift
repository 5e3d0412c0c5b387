/// One label of a host name in the form that name servers know (RFC 3492).
enum HostLabel {
    /// The label in lower-case ASCII; nil when no host has such a label.
    static func ascii(_ label: String) -> String? {
        let lower = label.lowercased()
        let scalars = lower.unicodeScalars
        if scalars.allSatisfy(\.isASCII) {
            let isName = lower.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F
            }
            return isName && lower.utf8.count <= 63 ? lower : nil
        }
        // Letters, their marks and digits only: blanks, signs and invisible characters make no name.
        guard scalars.allSatisfy({ $0.isASCII ? isPlain($0) : isLetter($0) }) else { return nil }
        guard let encoded = encode(scalars.map(\.value)) else { return nil }
        let name = "xn--" + encoded
        return name.utf8.count <= 63 ? name : nil
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "-" || ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar)
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: true
        default: false
        }
    }

    // The parameters of RFC 3492 §5.
    private static let base: UInt32 = 36
    private static let least: UInt32 = 1
    private static let most: UInt32 = 26
    private static let skew: UInt32 = 38
    private static let damp: UInt32 = 700

    /// RFC 3492 §6.3.
    private static func encode(_ input: [UInt32]) -> String? {
        guard input.count <= 63 else { return nil }
        var output = input.filter { $0 < 0x80 }.map { UInt8(truncatingIfNeeded: $0) }
        let basic = UInt32(output.count)
        var handled = basic
        if basic > 0 { output.append(0x2D) }
        var next: UInt32 = 0x80
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        while handled < input.count {
            guard let smallest = input.filter({ $0 >= next }).min() else { return nil }
            // At most 63 characters below 0x110000: nothing overflows.
            delta += (smallest - next) * (handled + 1)
            next = smallest
            for value in input {
                if value < next { delta += 1 }
                guard value == next else { continue }
                var rest = delta
                var position = base
                while true {
                    let threshold = position <= bias ? least : min(most, position - bias)
                    if rest < threshold { break }
                    output.append(digit(threshold + (rest - threshold) % (base - threshold)))
                    rest = (rest - threshold) / (base - threshold)
                    position += base
                }
                output.append(digit(rest))
                bias = adapt(delta, count: handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            next += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? 0x61 + value : 0x30 + value - 26)
    }

    private static func adapt(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var steps: UInt32 = 0
        while delta > (base - least) * most / 2 {
            delta /= base - least
            steps += base
        }
        return steps + (base - least + 1) * delta / (delta + skew)
    }
}
