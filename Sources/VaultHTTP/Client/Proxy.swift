/// The address of a proxy, which may hold a password.
struct Proxy: Sendable, Equatable {
    /// As it was given; libcurl reads it.
    let text: String

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    /// What stands in messages for it.
    static let mark = "<proxy>"
    /// libcurl cuts its messages off at this length.
    private static let messageLimit = 255

    /// Takes `[scheme://][user[:password]@]host[:port][/]`; nil for anything else.
    init?(_ text: String) {
        var rest = text[...]
        if let scheme = Self.scheme(text) {
            guard Self.schemes.contains(scheme.lowercased()) else { return nil }
            rest = rest.dropFirst(scheme.count + 3)
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        if let at = rest.firstIndex(of: "@") {
            guard Self.isUserInfo(rest[..<at]) else { return nil }
            rest = rest[rest.index(after: at)...]
        }
        guard !rest.contains(where: { "/?#@".contains($0) }), WebURL("http://" + rest) != nil else { return nil }
        self.text = text
    }

    private static func scheme(_ text: String) -> Substring? {
        let scheme = text.prefix { $0 != ":" }
        return text[scheme.endIndex...].hasPrefix("://") ? scheme : nil
    }

    /// Whether a text can stand before the `@`: visible characters, each `%` with its two digits, and no end of the host.
    private static func isUserInfo(_ text: Substring) -> Bool {
        let bytes = Array(text.utf8)
        func isDigit(_ index: Int) -> Bool {
            index < bytes.count && Character(Unicode.Scalar(bytes[index])).isHexDigit
        }
        return bytes.indices.allSatisfy { index in
            switch bytes[index] {
            case 0x25: isDigit(index + 1) && isDigit(index + 2)
            case 0x23, 0x2F, 0x3F, 0x5B, 0x5D: false
            case let byte: (0x21...0x7E).contains(byte)
            }
        }
    }

    /// A message of libcurl without this address.
    func hidden(in message: String) -> String {
        let secret = Array(text.utf8)
        var bytes = Array(message.utf8)
        let wasCut = bytes.count >= Self.messageLimit
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            // At the end of a message that was cut off its beginning is enough.
            if rest.starts(with: secret) || (wasCut && secret.starts(with: rest)) {
                let end = min(bytes.count, position + secret.count)
                bytes.replaceSubrange(position..<end, with: Self.mark.utf8)
                position += Self.mark.utf8.count
            } else {
                position += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
