internal import VaultCrypto

/// Finds the text of one vault key in other text, so that a vault never records its own key.
///
/// What is looked for is `passphrase:vault-id`, the part that all spellings of the key share, and the write key in hex.
package final class KeyFinder: Sendable {
    private let phrase: SecretBytes
    /// The colon and the vault id after it, which are no secret and stand in few texts.
    private let anchor: [UInt8]
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
        writeKeyHex = try writeKey?.hex()
    }

    /// Whether the key stands anywhere in `content`.
    package func finds(in content: Span<UInt8>) -> Bool {
        let length = phrase.count
        guard content.count >= length + anchor.count else { return findsWriteKey(in: content) }
        var position = length
        let last = content.count - anchor.count
        while position <= last {
            if content[position] == 0x3A, matchesAnchor(content, at: position),
                phrase.withBytes({ ConstantTime.equal($0, content.extracting((position - length)..<position)) })
            {
                return true
            }
            position += 1
        }
        return findsWriteKey(in: content)
    }

    /// Looks at the end of every run of hex digits that is long enough, and at every place within a longer one.
    private func findsWriteKey(in content: Span<UInt8>) -> Bool {
        switch writeKeyHex {
        case nil: false
        case .some(let key): key.withBytes { Self.finds($0, in: content) }
        }
    }

    private static func finds(_ key: Span<UInt8>, in content: Span<UInt8>) -> Bool {
        var run = 0
        for index in content.indices {
            run = Hex.value(content[index]) == nil ? 0 : run + 1
            guard run >= key.count else { continue }
            var difference: UInt8 = 0
            for offset in key.indices {
                // Capitals count as well: the digits' case is one bit.
                difference |= (key[offset] ^ content[index + 1 - key.count + offset]) & 0xDF
            }
            if difference == 0 { return true }
        }
        return false
    }

    private func matchesAnchor(_ content: Span<UInt8>, at position: Int) -> Bool {
        for index in anchor.indices where content[position + index] != anchor[index] { return false }
        return true
    }
}
