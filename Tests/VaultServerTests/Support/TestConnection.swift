import Glibc
import VaultFormat
import VaultSystem

/// A client's connection: what a test wants on the wire, byte for byte.
final class TestConnection: @unchecked Sendable {
    struct Answer {
        let status: Int
        /// Names in lower case.
        let headers: [String: String]
        let body: [UInt8]

        var json: JSONValue? { try? JSONReader.parse(body.span) }
        var text: String { String(decoding: body, as: UTF8.self) }
        var detail: String? { json?["detail"]?.text }
    }

    struct Broken: Error {}

    private let descriptor: Int32
    private var pending: [UInt8] = []

    /// Connects to a port of this machine; reads give up after some seconds.
    init(port: UInt16, patience: Int = 20) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // The address is as long as it says; the kernel copies it.
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        // The kernel copies the option.
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard result == 0 else { throw Broken() }
    }

    deinit {
        close(descriptor)
    }

    /// Sends bytes as they are; throws when the server has closed the connection.
    func send(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            // The array is lent for one call.
            let count = unsafe bytes[done...].withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Broken() }
            done += count
        }
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    private func receive() throws {
        // The kernel fills the buffer as far as it says.
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            count = unsafe max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        guard !piece.isEmpty else { throw Broken() }
        pending += piece
    }

    /// Waits until the first bytes of an answer are there.
    func awaitAnswer() throws {
        if pending.isEmpty { try receive() }
    }

    /// Whether the server closes the connection without another byte.
    var isClosed: Bool {
        do {
            try receive()
            return false
        } catch { return true }
    }

    /// Reads one answer.
    func answer(toHead: Bool = false) throws -> Answer {
        while true {
            guard let end = pending.firstRange(of: Array("\r\n\r\n".utf8)) else {
                try receive()
                continue
            }
            let lines = String(decoding: pending[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            guard words.count > 1, let status = Int(words[1]) else { throw Broken() }
            pending.removeSubrange(..<end.upperBound)
            if status == 100 { continue }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                guard let colon = line.firstIndex(of: ":") else { throw Broken() }
                headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
            }
            let isEmpty = toHead || status == 304
            let length = isEmpty ? 0 : Int(headers["content-length"] ?? "") ?? 0
            while pending.count < length { try receive() }
            defer { pending.removeFirst(length) }
            return Answer(status: status, headers: headers, body: Array(pending[..<length]))
        }
    }

    /// Sends a request and reads its answer.
    func request(
        _ method: String, _ target: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) throws -> Answer {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        try send(Array((head + "\r\n").utf8) + (body ?? []))
        return try answer(toHead: method == "HEAD")
    }
}
