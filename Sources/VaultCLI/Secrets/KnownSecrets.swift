internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The secrets that a run has seen, so that no message of it can repeat one (spec 10 B.5).
final class KnownSecrets: Sendable {
    /// Secrets cannot be copied, so the list holds references to them.
    private final class Value: Sendable {
        let bytes: SecretBytes

        init(_ bytes: consuming SecretBytes) {
            self.bytes = bytes
        }
    }

    private let values = Locked<[Value]>([])

    /// Shorter texts would make holes in words of every message.
    private static let least = 6

    /// Remembers a key: its whole text and what is left without its prefix.
    func remember(_ secret: borrowing SecretBytes) {
        secret.withBytes { bytes in
            let bare = KeyText.stripped(bytes)
            let whole = 0..<bytes.count
            for part in bare == whole ? [whole] : [whole, bare] where part.count >= Self.least {
                guard let copy = try? SecretBytes(copying: bytes.extracting(part)) else { continue }
                let value = Value(copy)
                values.withLock { $0.append(value) }
            }
        }
    }

    /// The text without known secrets and without what looks like one.
    func redacted(_ text: String) -> String {
        let known = values.withLock { $0 }
        guard !known.isEmpty else { return Redaction.redacted(text) }
        let mark = Array(Redaction.mark.utf8)
        var bytes = Array(text.utf8)
        for value in known {
            var start = 0
            while let place = value.bytes.withBytes({ Self.place(of: $0, in: bytes, from: start) }) {
                bytes.replaceSubrange(place, with: mark)
                start = place.lowerBound + mark.count
            }
        }
        return Redaction.redacted(String(decoding: bytes, as: UTF8.self))
    }

    private static func place(of secret: Span<UInt8>, in bytes: [UInt8], from first: Int) -> Range<Int>? {
        guard bytes.count >= first + secret.count else { return nil }
        for start in first...(bytes.count - secret.count) {
            var length = 0
            while length < secret.count, bytes[start + length] == secret[length] { length += 1 }
            if length == secret.count { return start..<(start + length) }
        }
        return nil
    }
}
