internal import VaultCore
internal import VaultFormat

/// Fetches one file of any size: from the server's object store where it has one, in ranges side by side where ranges
/// are given, else in one stream.
struct LargeDownload: Sendable {
    let endpoint: Endpoint
    let knowledge: ServerKnowledge
    let parallel: Int

    /// Bytes of one range; a few of them are in memory at once.
    private static let rangeSize: Int64 = 8 << 20
    private static let ranges = 3
    /// No object is longer: it is one message of AES-GCM.
    private static let longest: Int64 = 1 << 36

    /// Gives the file's bytes in order; false when there is none.
    func run(_ file: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        if knowledge.hasPresigned != false {
            switch try await readURL(file) {
            case .absent?: return false
            case .url(let url)?:
                // Addresses are given for files that are not there as well: the object store tells.
                return try await fetch(Source(url: url, isExternal: true), into: sink)
            case nil: knowledge.hasPresigned = false
            }
        }
        return try await fetch(Source(url: endpoint.url("read", file), isExternal: false), into: sink)
    }

    private enum Address {
        case absent
        case url(WebURL)
    }

    /// Where the object store has the file; nil where there is no object store.
    private func readURL(_ file: FileID) async throws -> Address? {
        let response = try await endpoint.send(endpoint.request(.get, endpoint.url("presigned/read-url", file)))
        if [400, 404, 405, 501].contains(response.status) { return nil }
        guard response.status == 200 else { throw endpoint.errors.error(response, writes: false) }
        let bounds = JSONReader.Bounds(depth: 8, values: 64)
        guard let document = try? JSONReader.parse(response.body.span, bounds: bounds),
            let text = document["url"]?.text ?? document["presigned_url"]?.text
        else { throw endpoint.errors.garbage("an address of a file that is none") }
        if text.isEmpty { return nil }
        knowledge.hasPresigned = true
        return .url(try ExternalRequest(endpoint: endpoint).checked(text))
    }

    private struct Source: Sendable {
        let url: WebURL
        let isExternal: Bool
    }

    /// The whole length of a file, as a first answer tells it.
    private struct Extent {
        var total: Int64?
        var isWhole: Bool
    }

    private func fetch(_ source: Source, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        var given: Int64 = 0
        guard let extent = try await first(source, &given, sink) else { return false }
        guard !extent.isWhole, let total = extent.total else { return true }
        guard given == min(Self.rangeSize, total) else { throw endpoint.errors.garbage("a range of another length") }
        try await rest(source, from: given, total: total, into: sink)
        return true
    }

    /// Gives the first range, or the whole file where ranges mean nothing to the server; nil when there is no file.
    private func first(
        _ source: Source, _ given: inout Int64, _ sink: (Span<UInt8>) throws -> Void
    ) async throws -> Extent? {
        let response = try await endpoint.authorized {
            try await endpoint.retrier.stream(source.url.origin, &given, into: sink) { sink in
                try await stream(source, 0..<Self.rangeSize, sink)
            }
        }
        switch response.status {
        case 200: return Extent(total: given, isWhole: true)
        case 206:
            guard let range = Self.contentRange(response), range.first == 0, let total = range.total else {
                throw endpoint.errors.garbage("a part of a file without its place")
            }
            guard total <= Self.longest else { throw endpoint.errors.garbage("a file of \(total) bytes") }
            return Extent(total: total, isWhole: given >= total)
        case 404: return nil
        // A range of an empty file can not be satisfied.
        case 416: return Extent(total: 0, isWhole: true)
        default: throw refusal(source, response)
        }
    }

    private func rest(
        _ source: Source, from start: Int64, total: Int64, into sink: (Span<UInt8>) throws -> Void
    ) async throws {
        let width = max(1, min(parallel, Self.ranges))
        try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            var position = start
            var asked = 0
            var next = 0
            var waiting: [Int: [UInt8]] = [:]
            func ask() {
                // One range after the other: the server's word alone makes no list of them.
                guard position < total else { return }
                let (index, bounds) = (asked, position..<min(total, position + Self.rangeSize))
                asked += 1
                position = bounds.upperBound
                group.addTask { (index, try await range(source, bounds, total: total)) }
            }
            for _ in 0..<width { ask() }
            while let (index, bytes) = try await group.next() {
                waiting[index] = bytes
                // Given in order; what came early waits, and nothing new is asked for meanwhile.
                while let bytes = waiting.removeValue(forKey: next) {
                    try sink(bytes.span)
                    next += 1
                    ask()
                }
            }
        }
    }

    private func range(_ source: Source, _ range: Range<Int64>, total: Int64) async throws -> [UInt8] {
        let response = try await endpoint.retrier.run(source.url.origin) {
            var request = request(source, range)
            request.answerLimit = Int(range.upperBound - range.lowerBound)
            let external = ExternalRequest(endpoint: endpoint)
            return try await source.isExternal ? external.send(request) : endpoint.client.send(request)
        }
        guard response.status == 206 else { throw refusal(source, response) }
        guard Int64(response.body.count) == range.upperBound - range.lowerBound,
            let told = Self.contentRange(response), told.first == range.lowerBound
        else { throw endpoint.errors.garbage("a range of another length") }
        guard told.total ?? total == total else { throw endpoint.errors.garbage("a file that changes its length") }
        return response.body
    }

    private func request(_ source: Source, _ range: Range<Int64>) -> HTTPRequest {
        var request =
            source.isExternal ? HTTPRequest(method: .get, url: source.url) : endpoint.request(.get, source.url)
        request.headers.append(HTTPHeader("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        return request
    }

    private func stream(
        _ source: Source, _ range: Range<Int64>, _ sink: ([UInt8]) throws -> Void
    ) async throws -> HTTPResponse {
        let request = request(source, range)
        let external = ExternalRequest(endpoint: endpoint)
        return try await source.isExternal
            ? external.stream(request, into: sink) : endpoint.client.stream(request, into: sink)
    }

    private func refusal(_ source: Source, _ response: HTTPResponse) -> VaultError {
        guard source.isExternal else { return endpoint.errors.error(response, writes: false) }
        return endpoint.errors.storeError(response)
    }

    /// `bytes first-last/total`; the total is nil for `*`.
    private static func contentRange(_ response: HTTPResponse) -> (first: Int64, total: Int64?)? {
        guard let text = response.head.headers["content-range"], text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split { $0 == "-" || $0 == "/" }
        guard parts.count == 3, let first = Int64(parts[0]), let last = Int64(parts[1]), first <= last else {
            return nil
        }
        let total = Int64(parts[2])
        if let total, total <= last { return nil }
        return (first, total)
    }
}
