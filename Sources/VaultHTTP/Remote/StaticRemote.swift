internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// A published vault on a host that only gives files (spec 04 §9.3).
///
/// Nothing of ours is sent to it, neither token nor key. A host that can not be reached, or that has nothing of a vault,
/// is an error and never an empty vault.
struct StaticRemote: Sendable {
    let endpoint: Endpoint
    private let found = Locked(Found())

    private struct Found {
        /// Where files are; fixed by the first one that is there.
        var layout: Layout?
        var manifest: [FileID]?
    }

    private enum Layout: CaseIterable {
        /// As the API has them.
        case api
        /// Directly below the base.
        case flat
    }

    private static let manifestLimit = 256 << 20

    init(endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    func read(
        _ ids: [FileID], inlineBytes: Int, parallel: Int, deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws {
        let next = Locked(0)
        // The group ends before this call does, so the closure does not really escape.
        try await withoutActuallyEscaping(deliver) { deliver in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<min(parallel, ids.count) {
                    group.addTask {
                        while let index = next.withLock({ index -> Int? in
                            guard index < ids.count else { return nil }
                            defer { index += 1 }
                            return index
                        }) {
                            try deliver(ids[index], try await read(ids[index], inlineBytes))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private func read(_ id: FileID, _ inlineBytes: Int) async throws -> RemoteFile {
        for layout in layouts {
            do {
                let response = try await get(url(id, layout), limit: inlineBytes)
                switch response.status {
                case 200:
                    settle(layout)
                    return .content(response.body)
                case 404, 410: continue
                default: throw endpoint.errors.error(response, writes: false)
                }
            } catch let failure as HTTPFailure where failure.kind == .tooLarge {
                settle(layout)
                return .large(size: nil)
            }
        }
        // Absent is believed of a place that has shown something of a vault.
        if found.withLock({ $0.layout }) == nil, try await manifest() == nil {
            throw VaultError(
                .serverError, "\(endpoint.errors.location) neither speaks the vault API nor holds a published vault",
                hint: "check the address")
        }
        return .absent
    }

    func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        for layout in layouts {
            let request = HTTPRequest(method: .get, url: url(id, layout))
            var given: Int64 = 0
            let response = try await endpoint.retrier.stream(request.url.origin, &given, into: sink) { sink in
                try await endpoint.client.stream(request, into: sink)
            }
            switch response.status {
            case 200: return true
            case 404, 410: continue
            default: throw endpoint.errors.error(response, writes: false)
            }
        }
        return false
    }

    /// What the manifest names; nothing where there is none.
    func list() async throws -> [FileID] { try await manifest() ?? [] }

    private func manifest() async throws -> [FileID]? {
        if let known = found.withLock({ $0.manifest }) { return known }
        let response = try await get(endpoint.base.appending("/manifest.json"), limit: Self.manifestLimit)
        if response.status == 404 || response.status == 410 { return nil }
        guard response.status == 200 else { throw endpoint.errors.error(response, writes: false) }
        let bounds = JSONReader.Bounds(depth: 8)
        guard let document = try? JSONReader.parse(response.body.span, bounds: bounds),
            let items = document["objects"]?.items
        else { throw endpoint.errors.garbage("a manifest that is none") }
        var seen: Set<FileID> = []
        let ids = items.compactMap { item -> FileID? in
            guard let text = item["file_id"]?.text, let id = try? FileID(path: text) else { return nil }
            return seen.insert(id).inserted ? id : nil
        }
        found.withLock { $0.manifest = ids }
        return ids
    }

    private var layouts: [Layout] { found.withLock { $0.layout }.map { [$0] } ?? Layout.allCases }

    private func settle(_ layout: Layout) {
        found.withLock { if $0.layout == nil { $0.layout = layout } }
    }

    private func url(_ id: FileID, _ layout: Layout) -> WebURL {
        // Ids are made of characters that need no escape, and a folder of files has real slashes.
        switch layout {
        case .api: endpoint.base.appending("/api/vault/read/\(endpoint.vaultID.text)/\(id.path)")
        case .flat: endpoint.base.appending("/\(id.path)")
        }
    }

    private func get(_ url: WebURL, limit: Int) async throws -> HTTPResponse {
        var request = HTTPRequest(method: .get, url: url)
        request.answerLimit = limit
        let sent = request
        return try await endpoint.retrier.run(url.origin) { try await endpoint.client.send(sent) }
    }
}
