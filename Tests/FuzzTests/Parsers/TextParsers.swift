import VaultCrypto
import VaultFormat
import VaultSystem

@testable import PKICore
@testable import VaultCLI

/// The readers of keys, documents, streams, rules and command lines.
enum TextParsers {
    static func keyText(_ bytes: [UInt8]) throws {
        let stripped = KeyText.stripped(bytes.span)
        try FuzzTarget.require(bytes.indices.contains(stripped) || stripped.isEmpty, "a key lies outside its text")
        _ = KeyText.prefix(of: bytes.span)
        let parts = bytes.split(separator: 0, maxSplits: 1).map { Array($0) }
        if parts.count == 2 {
            let (argument, readKey) = (parts[0], parts[1])
            _ = try? AccessKey.routing(argument: argument.span, readKey: readKey.span).vaultID
        }
        _ = try? ReadKey(text: bytes.span)
        switch try AccessKey.routing(argument: bytes.span, readKey: nil) {
        case .read(let key, let id):
            let hex = try key.hex()
            let isRead = hex.withBytes { hex in (try? ReadKey(hex: hex)) != nil }
            try FuzzTarget.require(isRead && !id.text.isEmpty, "a read key does not come back")
        case .vault(let key):
            let id = key.vaultID
            let text = try key.text()
            let again = text.withBytes { text in (try? VaultKey(parsing: text))?.vaultID }
            try FuzzTarget.require(again == id, "a vault key does not come back")
        }
    }

    static func json(_ bytes: [UInt8]) throws {
        let value = try JSONReader.parse(bytes.span)
        for style in [JSONWriter.Style.python, .pythonIndented2, .compact] {
            let again = JSONWriter.bytes(value, style)
            try FuzzTarget.require((try? JSONReader.parse(again.span)) == value, "a document does not come back")
        }
        let canonical = JSONWriter.bytes(value, .canonical)
        let read = try? JSONReader.parse(canonical.span)
        let twice = read.map { JSONWriter.bytes($0, .canonical) }
        try FuzzTarget.require(twice == canonical, "the canonical form is not stable")
    }

    /// As a whole and where the text lies; what is read comes back as it was written.
    static func base64(_ bytes: [UInt8]) throws {
        let whole = Base64.decode(bytes.span)
        if let whole { try FuzzTarget.require(Base64.encode(whole.span) == bytes, "a text has two spellings") }
        var held = bytes
        let (read, written) = Base64.decode(held.indices, of: &held, to: 0)
        try FuzzTarget.require(
            (read == bytes.count ? Array(held[..<written]) : nil) == whole, "a text reads differently where it lies")
        try FuzzTarget.require(held[read...] == bytes[read...], "characters that were not read have changed")
        // Long enough for the tables of long texts.
        var long = [UInt8](repeating: UInt8(ascii: "A"), count: 4096) + bytes
        let expected = whole.map { [UInt8](repeating: 0, count: 3072) + $0 }
        try FuzzTarget.require(Base64.decode(long.span) == expected, "a text reads differently in a long one")
        let moved = Base64.decode(1..<long.count, of: &long, to: 1)
        try FuzzTarget.require(moved.read <= long.count - 1, "more was read than is there")
        var stream = Base64Stream()
        var pieces: [UInt8] = []
        for cut in stride(from: 0, to: bytes.count, by: 5) {
            stream.append(bytes.span.extracting(cut..<min(cut + 5, bytes.count)), to: &pieces)
        }
        stream.finish(to: &pieces)
        try FuzzTarget.require(pieces == Base64.encode(bytes.span), "pieces are written differently")
    }

    /// In one piece and in two, with a small limit; both ways give the same.
    static func zlib(_ bytes: [UInt8]) throws {
        guard let first = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let isRaw = first & 1 != 0
        let limit = 1 << (8 + Int(first >> 5))
        let whole = try? Inflater.inflate(stream.span, limit: limit, raw: isRaw)
        if let whole { try FuzzTarget.require(whole.count <= limit, "more was inflated than is allowed") }
        let cut = stream.count * Int(first >> 1 & 15) / 16
        let parts = [Array(stream[..<cut]), Array(stream[cut...])]
        var inflater = try Inflater(limit: limit, raw: isRaw)
        var output: [UInt8] = []
        do {
            for part in parts { try inflater.update(part.span, into: &output) }
            try inflater.finish()
        } catch {
            return try FuzzTarget.require(whole == nil, "only the pieces of a stream are refused")
        }
        try FuzzTarget.require(whole == output, "a stream in pieces gives something else")
    }

    static func zip(_ bytes: [UInt8]) throws {
        let name = SecretScan.secretEntry(in: bytes.span)
        let read = { (offset: Int, count: Int) in Array(bytes[offset..<(offset + count)]) }
        try FuzzTarget.require(
            SecretScan.secretEntry(size: bytes.count, read: read) == name, "a zip in pieces holds something else")
    }

    /// The rules up to a NUL, then the path they are asked about.
    static func ignore(_ bytes: [UInt8]) throws {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map { Array($0) }
        let rules = try IgnoreRules(gitignore: parts[0])
        let path = parts.count == 2 ? parts[1] : Array("a/b.txt".utf8)
        _ = rules.reasonForFile(path)
        _ = rules.reasonForFolder(path)
    }

    static func path(_ bytes: [UInt8]) throws {
        _ = PathQuoting.text(bytes)
        _ = VaultPath.isProtected(bytes)
        let path = try VaultPath(bytes)
        // A blank name is none by itself and one below the folder, as in the reference.
        let again = Array("./".utf8) + path.bytes
        try FuzzTarget.require((try? VaultPath(again)) == path, "a path does not come back")
        try FuzzTarget.require(!VaultPath.isProtected(path.bytes), "a protected path was taken")
        let isInside = path.segments.allSatisfy { !$0.isEmpty && $0 != Array("..".utf8) && $0 != Array(".".utf8) }
        try FuzzTarget.require(isInside, "a path leads elsewhere")
        _ = ContentType.guess(name: path.lastSegment)
    }

    static func pem(_ bytes: [UInt8]) throws {
        _ = try? P256PublicKey(pem: bytes.span)
        _ = try? P256PublicKey(subjectPublicKeyInfo: bytes.span)
        let text = try P256PrivateKey(pem: bytes.span).pem()
        let isRead = text.withBytes { text in (try? P256PrivateKey(pem: text)) != nil }
        try FuzzTarget.require(isRead, "a private key does not come back")
    }

    static func arguments(_ bytes: [UInt8]) throws {
        let words = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
        _ = ArgumentParser.asksForJSON(words)
        let parsed = try ArgumentParser.parse(words, table: .standard)
        let values = parsed.values.values.reduce(0) { $0 + $1.count }
        try FuzzTarget.require(
            parsed.allPositionals.count <= words.count && values <= bytes.count, "there is more than was given")
    }
}

extension Range<Int> {
    /// Whether another range lies within this one.
    func contains(_ other: Range<Int>) -> Bool { lowerBound <= other.lowerBound && other.upperBound <= upperBound }
}
