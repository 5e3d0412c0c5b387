internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Where a vault's remote is: a folder of this machine or a URL.
struct ServerAddress: Sendable, Equatable {
    /// What kind of place it is.
    enum Place: Sendable, Equatable {
        case folder(FilePath)
        /// `http` or `https`.
        case web
    }

    let place: Place
    /// As it is recorded and shown: the URL, or the absolute path.
    let text: String

    /// Reads what a user typed (spec 10 B.2): a URL, or a path, which has a `/` in it or begins with `.`.
    static func parse(_ text: String, relativeTo directory: FilePath) throws -> ServerAddress {
        guard !text.isEmpty else { throw Usage.error("the server is empty") }
        if text.contains("://") { return try url(text) }
        guard text.contains("/") || text.hasPrefix(".") else {
            throw Usage.error(
                "\(TextSafety.quoted(Array(text.utf8))) is neither a URL nor a path; a path has a '/' in it")
        }
        return try folder(FilePath(text).lexicalAbsolute(from: directory))
    }

    /// Reads what a clone records.
    ///
    /// - Throws: `objectCorrupt` for what is neither a URL nor an absolute path.
    static func recorded(_ text: String) throws -> ServerAddress {
        guard Vault.isAddress(text) else {
            throw VaultError(
                .objectCorrupt,
                "the server that this clone records is neither a URL nor an absolute path: "
                    + TextSafety.quoted(Array(text.utf8)),
                hint: "vaultctl remote set-url NAME URL; vaultctl remote list has the name")
        }
        return text.contains("://") ? try url(text) : try folder(FilePath(text).lexicalAbsolute(from: "/"))
    }

    private static func url(_ text: String) throws -> ServerAddress {
        let bytes = Array(text.utf8)
        guard let mark = text.range(of: "://") else { throw Usage.error("the server is no URL") }
        let rest = text[mark.upperBound...]
        switch text[..<mark.lowerBound].lowercased() {
        case "file":
            let path = rest.hasPrefix("localhost/") ? rest.dropFirst("localhost".count) : rest
            guard path.hasPrefix("/"), let decoded = percentDecoded(Array(path.utf8)) else {
                throw Usage.error("\(TextSafety.quoted(bytes)) names no absolute path")
            }
            return try folder(FilePath(bytes: decoded).lexicalAbsolute(from: "/"))
        case "http", "https":
            let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard !authority.isEmpty else { throw Usage.error("the URL of the server names no host") }
            guard !authority.contains("@") else {
                throw Usage.error("the URL of the server holds a user name or password")
            }
            var trimmed = text
            while trimmed.hasSuffix("/") { trimmed.removeLast() }
            return ServerAddress(place: .web, text: trimmed)
        default:
            throw VaultError(
                .notSupported, "this build knows no such kind of server: \(TextSafety.quoted(bytes))",
                hint: "use https://, or the path of a folder")
        }
    }

    /// A folder by its absolute path, which is recorded as text: where it is not UTF-8 the record would name another.
    private static func folder(_ path: FilePath) throws -> ServerAddress {
        guard let text = UTF8Text.validated(path.bytes.span) else {
            throw Usage.error("the path of the server is not UTF-8: \(path.text)")
        }
        return ServerAddress(place: .folder(path), text: text)
    }

    private static func percentDecoded(_ bytes: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "%") {
                guard position + 2 < bytes.count,
                    let value = Hex.decode(bytes.span.extracting((position + 1)..<(position + 3)))?.first
                else { return nil }
                result.append(value)
                position += 3
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return result.contains(0) ? nil : result
    }
}

extension StringProtocol {
    /// Where another text first stands in this one.
    fileprivate func range(of other: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            let end = index(start, offsetBy: other.count, limitedBy: endIndex) ?? endIndex
            if self[start..<end] == other[...] { return start..<end }
            start = index(after: start)
        }
        return nil
    }
}
