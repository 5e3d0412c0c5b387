package import VaultCore
package import VaultFormat
internal import VaultSystem

/// A remote in memory with the real server's rules: operations apply one after the other, and stop at a conflict.
package final class InMemoryRemote: Remote {
    private struct State {
        var files: [FileID: [UInt8]] = [:]
        var owner: String?
        var isDestroyed = false
    }

    private let state = Locked(State())
    package let location = "memory"
    package let limits: RemoteLimits

    package init(limits: RemoteLimits = RemoteLimits(operations: 50, payloadBytes: 4 << 20, inlineBytes: 64 << 10)) {
        self.limits = limits
    }

    /// Everything held.
    package var files: [FileID: [UInt8]] { state.withLock { $0.files } }

    /// Puts bytes in place without asking anybody, as a broken server would.
    package func plant(_ bytes: [UInt8]?, at id: FileID) {
        state.withLock { $0.files[id] = bytes }
    }

    package func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        let held = files
        for id in ids {
            guard let bytes = held[id] else {
                try deliver(id, .absent)
                continue
            }
            try deliver(id, bytes.count > limits.inlineBytes ? .large(size: Int64(bytes.count)) : .content(bytes))
        }
    }

    package func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        guard let bytes = files[id] else { return false }
        for start in stride(from: 0, to: bytes.count, by: 1000) {
            let piece = Array(bytes[start..<min(bytes.count, start + 1000)])
            try sink(piece.span)
        }
        return true
    }

    package func list(_ area: RemoteArea) async throws -> [FileID] {
        files.keys.filter { area.contains($0) }.sorted { $0.path < $1.path }
    }

    package func destroy(authorization: WriteAuthorization) async throws -> Int? {
        let hash = try authorization.writeKey.ownerHash()
        return try state.withLock { state in
            guard state.owner == hash, !state.isDestroyed else {
                throw VaultError(.keyWrong, "another write key owns this vault, or it was destroyed")
            }
            defer { (state.files, state.isDestroyed) = ([:], true) }
            return state.files.count
        }
    }

    package func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        let hash = try authorization.writeKey.ownerHash()
        let isOwner = state.withLock { state -> Bool in
            if state.owner == nil { state.owner = hash }
            return state.owner == hash && !state.isDestroyed
        }
        guard isOwner else { throw VaultError(.keyWrong, "another write key owns this vault") }
        for (position, operation) in batch.operations.enumerated() {
            switch operation {
            case .object(let id, let source):
                var bytes: [UInt8] = []
                try source.read { span in for index in span.indices { bytes.append(span[index]) } }
                let content = bytes
                let fits = state.withLock { state -> Bool in
                    if let held = state.files[.object(id)] { return held == content }
                    state.files[.object(id)] = content
                    return true
                }
                guard fits else { throw VaultError(.objectCorrupt, "\(id.text) is there with other bytes") }
            case .key(let id, let bytes):
                let fits = state.withLock { state -> Bool in
                    if let held = state.files[.key(id)] { return held == bytes }
                    state.files[.key(id)] = bytes
                    return true
                }
                guard fits else { throw VaultError(.objectCorrupt, "\(id.text) is there with other bytes") }
            case .cache(let id, let bytes): state.withLock { $0.files[id] = bytes }
            case .removeCache(let id): state.withLock { $0.files[id] = nil }
            case .swap(let target, let expected, let new):
                let found = state.withLock { state -> (holds: Bool, current: [UInt8]?) in
                    let current = state.files[target.fileID]
                    let holds =
                        switch expected {
                        case .absent: current == nil
                        case .bytes(let bytes): current == bytes
                        }
                    if holds { state.files[target.fileID] = new }
                    return (holds, current)
                }
                if !found.holds { return .conflict(position: position, current: found.current) }
            }
        }
        return .applied
    }
}

extension RemoteArea {
    /// Whether a file belongs to the area.
    package func contains(_ id: FileID) -> Bool {
        switch (self, id) {
        case (.all, _), (.objects, .object), (.refs, .ref), (.keys, .key), (.indexes, .index): true
        case (.cache, _): id.isCache
        default: false
        }
    }
}
