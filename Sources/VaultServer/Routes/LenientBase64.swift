internal import VaultFormat

/// Base64 as the real server reads it (04 §2.3): what is outside the alphabet is skipped, then the padding must fit.
enum LenientBase64 {
    /// The bytes; nil when the padding does not fit.
    static func decode(_ text: String) -> [UInt8]? {
        let utf8 = Array(text.utf8)
        if let exact = Base64.decode(utf8.span) { return exact }
        var result: [UInt8] = []
        result.reserveCapacity(utf8.count / 4 * 3)
        var position = 0
        var pads = 0
        var left: UInt8 = 0
        for byte in utf8 {
            if byte == UInt8(ascii: "=") {
                if position >= 2 {
                    pads += 1
                    // A complete group ends the text, whatever follows.
                    if position + pads >= 4 { return result }
                }
                continue
            }
            guard let value = value(byte) else { continue }
            pads = 0
            switch position {
            case 0: left = value
            case 1:
                result.append(left << 2 | value >> 4)
                left = value & 15
            case 2:
                result.append(left << 4 | value >> 2)
                left = value & 3
            default: result.append(left << 6 | value)
            }
            position = (position + 1) & 3
        }
        return position == 0 ? result : nil
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x47
        case 0x30...0x39: byte + 4
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
