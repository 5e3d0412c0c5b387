internal import VaultFormat

/// The path and query of a request, taken apart.
struct RequestTarget: Sendable {
    /// The decoded path.
    let path: String
    /// The query as sent.
    let query: [UInt8]

    /// Nil for a target that is too long, holds a NUL, a damaged escape, or is no UTF-8.
    init?(_ target: [UInt8]) {
        guard target.count <= ServerLimits.targetBytes, target.first == UInt8(ascii: "/") else { return nil }
        let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        guard let path = Self.decode(target[..<mark], plusIsBlank: false) else { return nil }
        self.path = path
        query = mark == target.endIndex ? [] : Array(target[(mark + 1)...])
    }

    /// The first value of a query parameter; nil when it is absent or damaged.
    func parameter(_ name: String) -> String? {
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard pair[..<equals].elementsEqual(name.utf8) else { continue }
            return equals == pair.endIndex ? "" : Self.decode(pair[(equals + 1)...], plusIsBlank: true)
        }
        return nil
    }

    private static func decode(_ text: ArraySlice<UInt8>, plusIsBlank: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            var byte = text[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < text.endIndex, let high = Hex.value(text[index + 1]),
                    let low = Hex.value(text[index + 2])
                else { return nil }
                byte = high << 4 | low
                index += 2
            } else if byte == UInt8(ascii: "+"), plusIsBlank {
                byte = UInt8(ascii: " ")
            }
            guard byte != 0 else { return nil }
            bytes.append(byte)
            index += 1
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text as one segment of a path, slashes escaped.
    static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
            default: result += [UInt8(ascii: "%"), upper(byte >> 4), upper(byte & 15)]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func upper(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x37 + value
    }
}
