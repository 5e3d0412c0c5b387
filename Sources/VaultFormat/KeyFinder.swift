internal import VaultCrypto

/// Finds the text of one vault key in other text, so that a vault never records its own key.
///
/// What is looked for is `passphrase:vault-id`, the part that all spellings of the key share, and the write key in hex.
package final class KeyFinder: Sendable {
    private let phrase: SecretBytes
    /// The colon and the vault id after it, which are no secret and stand in few texts.
    private let anchor: [UInt8]
    /// How far the anchor's end moves on past each byte that is found there.
    private let skips: [Int]
    private let writeKeyHex: SecretBytes?

    /// Prepares the search for a key given as text.
    ///
    /// - Throws: `.invalidKey` when the text is no vault key.
    package init(keyText: Span<UInt8>, writeKey: WriteKey? = nil) throws(FormatError) {
        let bare = keyText.extracting(KeyText.stripped(keyText))
        guard let colon = bare.lastIndex(of: 0x3A), colon > 0, colon + 1 < bare.count else {
            throw .invalidKey("a vault key is a passphrase, a colon and a vault id")
        }
        phrase = try withCryptoErrors { () throws(CryptoError) in try SecretBytes(copying: bare.extracting(..<colon)) }
        anchor = bare.extracting(colon...).array()
        var skips = [Int](repeating: anchor.count, count: 256)
        for (index, byte) in anchor.dropLast().enumerated() { skips[Int(byte)] = anchor.count - 1 - index }
        self.skips = skips
        writeKeyHex = try writeKey?.hex()
    }

    /// Whether the key stands anywhere in `content`.
    package func finds(in content: Span<UInt8>) -> Bool {
        findsPhrase(in: content) || findsWriteKey(in: content)
    }

    /// Looks for the anchor as Boyer, Moore and Horspool do: from its last byte, and on by as much as the byte found
    /// there allows.
    private func findsPhrase(in content: Span<UInt8>) -> Bool {
        let length = phrase.count
        var end = length + anchor.count - 1
        while end < content.count {
            let byte = content[end]
            let start = end + 1 - anchor.count
            if byte == anchor[anchor.count - 1], matchesAnchor(content, at: start),
                phrase.withBytes({ ConstantTime.equal($0, content.extracting((start - length)..<start)) })
            {
                return true
            }
            end += skips[Int(byte)]
        }
        return false
    }

    /// Looks for the write key in any place of a run of hex digits that is long enough for it.
    private func findsWriteKey(in content: Span<UInt8>) -> Bool {
        switch writeKeyHex {
        case nil: false
        case .some(let key): key.withBytes { Self.finds($0, in: content) }
        }
    }

    private static func finds(_ key: Span<UInt8>, in content: Span<UInt8>) -> Bool {
        guard !key.isEmpty else { return false }
        let length = key.count
        // A run of so many digits covers one of the places that are so far apart: only there it has to be looked for.
        var place = length - 1
        while place < content.count {
            var start = place
            var end = place
            while end < content.count, Hex.value(content[end]) != nil { end += 1 }
            if end > place {
                // Further left it would have been met at the place before.
                while start > place - (length - 1), Hex.value(content[start - 1]) != nil { start -= 1 }
                for last in stride(from: start + length, through: end, by: 1)
                where matches(key, content, endingAt: last) {
                    return true
                }
            }
            repeat { place += length } while place < end
        }
        return false
    }

    private static func matches(_ key: Span<UInt8>, _ content: Span<UInt8>, endingAt end: Int) -> Bool {
        var difference: UInt8 = 0
        for offset in key.indices {
            // Capitals count as well: the digits' case is one bit.
            difference |= (key[offset] ^ content[end - key.count + offset]) & 0xDF
        }
        return difference == 0
    }

    private func matchesAnchor(_ content: Span<UInt8>, at position: Int) -> Bool {
        for index in anchor.indices where content[position + index] != anchor[index] { return false }
        return true
    }
}
