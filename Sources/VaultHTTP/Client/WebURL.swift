internal import VaultCore
internal import VaultFormat

/// An `http` or `https` URL, checked and in one spelling: ASCII, the host in lower case, no user, no fragment.
package struct WebURL: Sendable, Hashable {
    package let isSecure: Bool
    /// As it stands in a URL: an IPv6 address in brackets, a name in lower case, not ASCII as `xn--`.
    package let host: String
    /// Nil for the scheme's own.
    package let port: UInt16?
    /// Empty, or begins with `/`; percent-encoded.
    package let path: String
    /// With its `?`; empty without one.
    let query: String

    /// The longest URL that is taken.
    private static let limit = 16 << 10

    /// Reads a URL; nil when it is none that may be asked.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.limit else { return nil }
        let lower = text.prefix(8).lowercased()
        let rest: Substring
        if lower.hasPrefix("https://") {
            (isSecure, rest) = (true, text.dropFirst(8))
        } else if lower.hasPrefix("http://") {
            (isSecure, rest) = (false, text.dropFirst(7))
        } else {
            return nil
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let (host, port) = Self.split(authority) else { return nil }
        let tail = rest[authority.endIndex...].prefix { $0 != "#" }
        let path = tail.prefix { $0 != "?" }
        guard let encodedPath = Self.encoded(path), let query = Self.encoded(tail[path.endIndex...]) else { return nil }
        self.host = host
        self.port = port == (isSecure ? 443 : 80) ? nil : port
        self.path = encodedPath
        self.query = query
    }

    private init(isSecure: Bool, host: String, port: UInt16?, path: String, query: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// The whole URL.
    package var text: String { origin + (path.isEmpty ? "/" : path) + query }

    /// The URL without what may be a secret in its query.
    var withoutQuery: String { origin + path + (query.isEmpty ? "" : "?...") }

    /// Scheme, host and port: what a token belongs to.
    package var origin: String {
        (isSecure ? "https://" : "http://") + host + (port.map { ":\($0)" } ?? "")
    }

    /// The URL with the slashes at its end removed and something appended, which must be encoded already.
    func appending(_ suffix: String, query: String = "") -> WebURL {
        var base = path[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        return WebURL(isSecure: isSecure, host: host, port: port, path: base + suffix, query: query)
    }

    /// Whether the host is this machine, by its name or a plain address.
    package var isLoopback: Bool { Self.isLoopback(host: host) }

    static func isLoopback(host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        // Shorter spellings such as 127.1 count as names here: they are refused rather than trusted.
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { part in
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt8(part) else { return false }
            return String(number) == part
        }
    }

    // MARK: reading

    private static func split(_ authority: Substring) -> (host: String, port: UInt16?)? {
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let hostPart: Substring
        var rest: Substring
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { return nil }
            hostPart = authority[...close]
            rest = authority[authority.index(after: close)...]
        } else {
            hostPart = authority.prefix { $0 != ":" }
            rest = authority[hostPart.endIndex...]
        }
        var port: UInt16?
        if !rest.isEmpty {
            guard rest.hasPrefix(":") else { return nil }
            rest = rest.dropFirst()
            guard rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(rest), number > 0 else {
                return nil
            }
            port = number
        }
        return host(hostPart).map { ($0, port) }
    }

    private static func host(_ text: Substring) -> String? {
        if text.hasPrefix("[") {
            let address = text.dropFirst().dropLast()
            let isAddress = address.utf8.allSatisfy { Hex.value($0) != nil || $0 == 0x3A || $0 == 0x2E }
            return isAddress && address.contains(":") ? text.lowercased() : nil
        }
        var labels: [String] = []
        // The full stops that people type where scripts have their own.
        let stops: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]
        for label in text.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: { stops.contains($0) })
        {
            guard let ascii = HostLabel.ascii(String(String.UnicodeScalarView(label))) else { return nil }
            labels.append(ascii)
        }
        // One full stop at the end means the same name.
        if labels.count > 1, labels.last == "" { labels.removeLast() }
        let name = labels.joined(separator: ".")
        return !labels.contains("") && name.utf8.count <= 253 ? name : nil
    }

    /// A path or query as sent: what is not ASCII is escaped; control characters, blanks and lone escapes are refused.
    private static func encoded(_ text: Substring) -> String? {
        var result = ""
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case 0x25:
                guard index + 2 < bytes.count, Hex.value(bytes[index + 1]) != nil, Hex.value(bytes[index + 2]) != nil
                else { return nil }
                result.append("%")
            case 0x80...: result += percent(byte)
            case 0x21...0x7E
            where byte != 0x22 && byte != 0x3C && byte != 0x3E && byte != 0x5C && byte != 0x5E
                && byte != 0x60 && byte != 0x7B && byte != 0x7C && byte != 0x7D:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: return nil
            }
        }
        return result
    }

    /// A text as one segment of a path: everything but unreserved characters is escaped, `/` included.
    static func segment(_ text: String) -> String {
        text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += percent(byte)
            }
        }
    }

    private static func percent(_ byte: UInt8) -> String {
        let digits = Array("0123456789ABCDEF")
        return "%" + String(digits[Int(byte >> 4)]) + String(digits[Int(byte & 15)])
    }
}
