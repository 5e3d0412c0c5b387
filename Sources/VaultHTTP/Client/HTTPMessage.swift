package import VaultCrypto

/// A header of a request, whose value may be a secret.
struct HTTPHeader: Sendable {
    let name: String
    private let value: Value

    private enum Value: Sendable {
        case text(String)
        case secret(HTTPSecret)
    }

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = .text(value)
    }

    init(_ name: String, _ secret: HTTPSecret) {
        self.name = name
        value = .secret(secret)
    }

    var isSecret: Bool {
        if case .secret = value { true } else { false }
    }

    /// `Name: value`, with a NUL at its end.
    var line: [UInt8] {
        var line: [UInt8] = []
        switch value {
        case .text(let text):
            line += Array(name.utf8) + [0x3A, 0x20] + text.utf8 + [0]
        case .secret(let secret):
            secret.bytes.withBytes { bytes in
                // At once, so that no shorter copy of it is left behind.
                line.reserveCapacity(name.utf8.count + bytes.count + 3)
                line += Array(name.utf8) + [0x3A, 0x20]
                for index in bytes.indices { line.append(bytes[index]) }
                line.append(0)
            }
        }
        return line
    }
}

/// A token or a write key on its way into a header.
package final class HTTPSecret: Sendable {
    package let bytes: SecretBytes

    /// Takes the bytes over.
    ///
    /// - Returns: nil when they can not stand in a header: only visible characters and blanks inside may.
    package init?(_ bytes: consuming SecretBytes) {
        let fits = bytes.withBytes { bytes in
            !bytes.isEmpty && bytes.indices.allSatisfy { (0x21...0x7E).contains(bytes[$0]) || bytes[$0] == 0x20 }
        }
        guard fits else { return nil }
        self.bytes = bytes
    }
}

/// A request.
struct HTTPRequest: Sendable {
    /// What can be done.
    enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    /// The body of a request.
    enum Body: Sendable {
        case bytes([UInt8])
        /// So many bytes from somewhere, given once.
        case stream(size: Int64, any BodySource)
    }

    var method: Method
    var url: WebURL
    var headers: [HTTPHeader] = []
    var body: Body?
    /// The most bytes of the answer's body that are taken.
    var answerLimit = 1 << 20
    /// Whether the transport may send it again by itself when a kept connection turns out to be dead.
    ///
    /// So it is with a request whose body only asks; everything else is repeated above, where the consequences are
    /// known.
    var onlyReads = false
}

/// Gives the bytes of a request's body, on the client's thread.
protocol BodySource: Sendable {
    /// The next bytes, at most `limit`; empty when that were all.
    func next(limit: Int) -> BodyPiece
    /// Whether it can begin again.
    func rewind() -> Bool
    /// Sets what makes a transfer that waits go on.
    func attach(resume: @escaping @Sendable () -> Void)
}

/// The head of an answer.
struct HTTPHead: Sendable {
    /// Lower-case names; of several headers with one name the last.
    var headers: [String: String] = [:]
    var status = 0

    /// The bytes of the head so far.
    private var size = 0
    private var lines = 0

    /// The most bytes and lines of a head.
    private static let limit = 64 << 10
    private static let lineLimit = 200

    /// Takes the next line; false when the head is too large.
    ///
    /// A head after an interim one takes its place.
    mutating func take(_ line: [UInt8]) -> Bool {
        size += line.count
        lines += 1
        guard size <= Self.limit, lines <= Self.lineLimit else { return false }
        if line.starts(with: "HTTP/".utf8) {
            headers = [:]
            let parts = line.split(separator: 0x20, omittingEmptySubsequences: true)
            status = parts.count > 1 ? Int(String(decoding: parts[1].prefix(3), as: UTF8.self)) ?? 0 : 0
            return true
        }
        guard let colon = line.firstIndex(of: 0x3A) else { return true }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        let end = value.lastIndex { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D && $0 != 0x0A }
        headers[name] = end.map { String(decoding: value[...$0], as: UTF8.self) } ?? ""
        return true
    }

    /// The number of bytes of the body, where it is told.
    var contentLength: Int64? {
        headers["content-length"].flatMap { Int64($0) }
    }
}

/// A whole answer.
struct HTTPResponse: Sendable {
    var head: HTTPHead
    var body: [UInt8]
    var status: Int { head.status }
    /// 10, 11 or 20.
    var httpVersion: Int
    var isReused: Bool
}
