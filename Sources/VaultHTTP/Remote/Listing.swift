internal import VaultCore
internal import VaultFormat

/// The route that names the files of a vault.
struct Listing: Sendable {
    let endpoint: Endpoint

    /// The most bytes and names of a list: a few million objects.
    private static let limit = 256 << 20

    func run(_ area: RemoteArea) async throws -> [FileID] {
        var request = endpoint.request(.get, endpoint.url("list", query: "?prefix=" + Self.prefix(area)))
        request.answerLimit = Self.limit
        let response = try await endpoint.send(request)
        guard response.status == 200 else { throw endpoint.errors.error(response, writes: false) }
        let bounds = JSONReader.Bounds(depth: 4)
        guard let document = try? JSONReader.parse(response.body.span, bounds: bounds),
            let items = document["files"]?.items
        else { throw endpoint.errors.garbage("it lists nothing") }
        var seen: Set<FileID> = []
        return items.compactMap { item in
            // What is no place of a known kind of file never becomes a local path.
            guard let text = item.text, let id = try? FileID(path: text), Self.contains(area, id) else { return nil }
            return seen.insert(id).inserted ? id : nil
        }
    }

    private static func prefix(_ area: RemoteArea) -> String {
        switch area {
        case .all: "bare/"
        case .objects: "bare/data/"
        case .refs: "bare/refs/"
        case .keys: "bare/keys/"
        case .indexes: "bare/indexes/"
        case .cache: "bare/cache/"
        }
    }

    static func contains(_ area: RemoteArea, _ id: FileID) -> Bool {
        switch (area, id) {
        case (.all, _), (.objects, .object), (.refs, .ref), (.keys, .key), (.indexes, .index): true
        case (.cache, _): id.isCache
        default: false
        }
    }
}
