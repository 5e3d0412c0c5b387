package import VaultSystem

/// What is sealed: bytes in memory, or an open file that is read a piece at a time.
package enum Message: Sendable {
    case bytes([UInt8])
    /// Everything from the file's position on; `count` as its status tells it.
    case file(any File, count: Int, name: String)

    /// Bytes at once: whole groups of both layers of base64, and few enough for the processor's cache.
    private static let pieceCount = 9 << 12

    /// The number of bytes; of a file that changes while it is read it is another.
    var expectedCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let count, _): count
        }
    }

    /// Hands out all bytes in order.
    ///
    /// * `limit`: The most bytes that a file may turn out to have.
    /// - Throws: `refused` once there are more; an I/O error; what `body` throws.
    func forEachPiece(
        limit: Int = SealedEnvelope.maximumPlaintextCount, _ body: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) {
        switch self {
        case .bytes(let bytes):
            var start = 0
            while start < bytes.count {
                let end = min(start + Self.pieceCount, bytes.count)
                try body(bytes.span.extracting(start..<end))
                start = end
            }
        case .file(let file, _, let name):
            var piece = [UInt8](repeating: 0, count: Self.pieceCount)
            var total = 0
            while true {
                let count = try file.read(into: &piece, name: name)
                guard count > 0 else { return }
                total += count
                guard total <= limit else { throw SealedEnvelope.tooLarge() }
                try body(piece.span.extracting(first: count))
            }
        }
    }
}
