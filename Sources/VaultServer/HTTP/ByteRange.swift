/// A `Range` header of one range; several at once are answered with the whole, as HTTP allows.
enum ByteRange: Sendable, Equatable {
    case whole
    case part(offset: Int64, count: Int64)
    case unsatisfiable

    /// Reads the header against the size of what is asked for.
    init(_ header: String?, size: Int64) {
        self = .whole
        guard let header, header.hasPrefix("bytes=") else { return }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        let (first, last) = (Self.number(parts[0]), Self.number(parts[1]))
        switch (first, last) {
        case (let first?, nil) where parts[1].isEmpty:
            self = first < size ? .part(offset: first, count: size - first) : .unsatisfiable
        case (let first?, let last?) where last >= first:
            self = first < size ? .part(offset: first, count: min(last, size - 1) - first + 1) : .unsatisfiable
        case (nil, let last?) where parts[0].isEmpty:
            let count = min(last, size)
            self = count > 0 ? .part(offset: size - count, count: count) : .unsatisfiable
        default: return
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }
}
