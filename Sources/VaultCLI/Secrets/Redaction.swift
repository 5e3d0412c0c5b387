internal import VaultFormat

/// The last filter over every message that leaves the tool (spec 10 B.5): what looks like key material is replaced.
///
/// It works whatever the code above it did, and on bytes, so that no message is too odd to be filtered.
enum Redaction {
    /// What stands in the place of a secret.
    static let mark = "<redacted>"

    /// The text without anything that looks like a secret.
    static func redacted(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let spans = secretRanges(in: bytes)
        guard !spans.isEmpty else { return text }
        var result: [UInt8] = []
        var position = 0
        for span in spans where span.lowerBound >= position {
            result += bytes[position..<span.lowerBound] + Array(mark.utf8)
            position = span.upperBound
        }
        result += bytes[position...]
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether a text holds something that looks like a secret.
    static func findsSecret(in text: String) -> Bool {
        !secretRanges(in: Array(text.utf8)).isEmpty
    }

    /// Whether a word is a generated vault key without its prefix.
    static func isBareKey(_ word: [UInt8]) -> Bool {
        bareKeys(word).contains { $0 == word.indices }
    }

    /// Whether a text holds a private key of any vault: a generated one, or one that declares itself and parses.
    ///
    /// Narrower than the filter, because what it finds is refused: a longer run of digits with a colon in it is no key.
    static func findsPrivateKey(in text: String) -> Bool {
        let bytes = Array(text.utf8)
        let generated = bareKeys(bytes).contains { range in
            let isWhole = range.lowerBound == 0 || !isKeyCharacter(bytes[range.lowerBound - 1])
            return isWhole && range.count <= 24 + 1 + 24
        }
        if generated { return true }
        return prefixedKeys(bytes).contains { range in
            let key = bytes[range]
            let bare = Array(key)
            return (try? AccessKey.routing(argument: bare.span, readKey: nil)) != nil
        }
    }

    private static func secretRanges(in bytes: [UInt8]) -> [Range<Int>] {
        (prefixedKeys(bytes) + bareKeys(bytes) + hexKeys(bytes) + userInfo(bytes)).sorted {
            ($0.lowerBound, -$0.upperBound) < ($1.lowerBound, -$1.upperBound)
        }
    }

    /// `sgit_(private_vault|private_read|vk1|rk1)_` and what follows up to a blank.
    private static func prefixedKeys(_ bytes: [UInt8]) -> [Range<Int>] {
        let prefixes = ["sgit_private_vault_", "sgit_private_read_", "sgit_vk1_", "sgit_rk1_"].map { Array($0.utf8) }
        return prefixes.flatMap { prefix in
            positions(of: prefix, in: bytes).compactMap { start in
                let from = start + prefix.count
                let end = bytes[from...].firstIndex(where: isBlankOrQuote) ?? bytes.count
                return end > from ? from..<end : nil
            }
        }
    }

    /// `[a-z0-9]{24}:[a-z0-9]{8,24}`: a generated vault key without prefix.
    private static func bareKeys(_ bytes: [UInt8]) -> [Range<Int>] {
        bytes.indices.filter { bytes[$0] == UInt8(ascii: ":") && $0 >= 24 }.compactMap { colon in
            guard bytes[(colon - 24)..<colon].allSatisfy(isKeyCharacter) else { return nil }
            let tail = bytes[(colon + 1)...].prefix { isKeyCharacter($0) }
            return tail.count >= 8 ? (colon - 24)..<tail.endIndex : nil
        }
    }

    /// Runs of 64 hex digits with the word `key` shortly before.
    private static func hexKeys(_ bytes: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var position = 0
        while position < bytes.count {
            guard isHexDigit(bytes[position]) else {
                position += 1
                continue
            }
            let run = bytes[position...].prefix(while: isHexDigit)
            if run.count >= 64 {
                let before = bytes[max(0, position - 24)..<position].map { $0 | 0x20 }
                if !positions(of: Array("key".utf8), in: before).isEmpty { found.append(run.startIndex..<run.endIndex) }
            }
            position = run.endIndex
        }
        return found
    }

    /// `user:password@` of a URL.
    private static func userInfo(_ bytes: [UInt8]) -> [Range<Int>] {
        positions(of: Array("://".utf8), in: bytes).compactMap { start in
            let from = start + 3
            let authority = bytes[from...].prefix { !isBlankOrQuote($0) && $0 != UInt8(ascii: "/") }
            guard let at = authority.lastIndex(of: UInt8(ascii: "@")), at > from else { return nil }
            return from..<at
        }
    }

    private static func positions(of needle: [UInt8], in bytes: [UInt8]) -> [Int] {
        guard bytes.count >= needle.count else { return [] }
        return (0...(bytes.count - needle.count)).filter { bytes[$0...].starts(with: needle) }
    }

    private static func isBlankOrQuote(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"")
    }

    private static func isKeyCharacter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
