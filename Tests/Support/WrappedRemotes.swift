package import VaultCore
package import VaultFormat
internal import VaultSystem

/// Counts what is asked of a remote.
package final class CountingRemote: Remote {
    package struct Counts: Sendable, Equatable {
        package var reads = 0
        package var filesRead = 0
        package var lists = 0
        package var applies = 0
        package var operations = 0
        /// Named refs that were swapped.
        package var namedRefSwaps = 0
        /// Every id that was asked for, in order.
        package var asked: [FileID] = []
    }

    private let inner: any Remote
    private let counts = Locked(Counts())

    package init(_ inner: any Remote) {
        self.inner = inner
    }

    package var counted: Counts { counts.withLock { $0 } }

    package func reset() {
        counts.withLock { $0 = Counts() }
    }

    package var location: String { inner.location }
    package var limits: RemoteLimits { inner.limits }
    package var createsOnWrite: Bool { inner.createsOnWrite }
    package var swapsAtOnce: Bool { inner.swapsAtOnce }

    package func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        if !ids.isEmpty {
            counts.withLock {
                $0.reads += 1
                $0.filesRead += ids.count
                $0.asked += ids
            }
        }
        try await inner.read(ids, deliver: deliver)
    }

    package func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        counts.withLock {
            $0.reads += 1
            $0.asked.append(id)
        }
        return try await inner.stream(id, into: sink)
    }

    package func list(_ area: RemoteArea) async throws -> [FileID] {
        counts.withLock { $0.lists += 1 }
        return try await inner.list(area)
    }

    package func storedBytes() async throws -> Int64? { try await inner.storedBytes() }

    package func destroy(authorization: WriteAuthorization) async throws -> Int? {
        try await inner.destroy(authorization: authorization)
    }

    package func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        counts.withLock { counts in
            counts.applies += 1
            counts.operations += batch.operations.count
            for case .swap(.ref(let id), _, _) in batch.operations where id.kind == .named {
                counts.namedRefSwaps += 1
            }
        }
        return try await inner.apply(batch, authorization: authorization)
    }
}

/// A remote that does not tell the truth about some files.
package final class LyingRemote: Remote {
    /// What is done to an answer.
    package enum Lie: Sendable {
        case absent
        case flipBit
        case truncate
        case swapWith(FileID)
        case answer([UInt8])
        /// No answer at all.
        case fail(VaultError)
    }

    private let inner: any Remote
    private let lies: [FileID: Lie]
    private let listed: [FileID]

    /// Lies about the files named, and lists more files than there are.
    package init(_ inner: any Remote, lies: [FileID: Lie], alsoListing listed: [FileID] = []) {
        self.inner = inner
        self.lies = lies
        self.listed = listed
    }

    package var location: String { inner.location }
    package var limits: RemoteLimits { inner.limits }

    package func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        for id in ids {
            switch lies[id] {
            case .absent?: try deliver(id, .absent)
            case .fail(let error)?: throw error
            case .answer(let bytes)?: try deliver(id, .content(bytes))
            case .swapWith(let other)?:
                try await inner.read([other]) { _, file in try deliver(id, file) }
            case .flipBit?, .truncate?:
                let truncates = if case .truncate? = lies[id] { true } else { false }
                try await inner.read([id]) { id, file in
                    guard case .content(var bytes) = file, !bytes.isEmpty else { return try deliver(id, file) }
                    if truncates { bytes.removeLast() } else { bytes[bytes.count / 2] ^= 4 }
                    try deliver(id, .content(bytes))
                }
            case nil: try await inner.read([id], deliver: deliver)
            }
        }
    }

    package func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        switch lies[id] {
        case .fail(let error)?: throw error
        case .absent?: return false
        case .answer(let bytes)?:
            try sink(bytes.span)
            return true
        case .swapWith(let other)?: return try await inner.stream(other, into: sink)
        case .flipBit?, .truncate?:
            var bytes: [UInt8] = []
            let found = try await inner.stream(id) { span in for index in span.indices { bytes.append(span[index]) } }
            guard found, !bytes.isEmpty else { return found }
            if case .truncate? = lies[id] { bytes.removeLast() } else { bytes[bytes.count / 2] ^= 4 }
            try sink(bytes.span)
            return true
        case nil: return try await inner.stream(id, into: sink)
        }
    }

    package func list(_ area: RemoteArea) async throws -> [FileID] {
        try await inner.list(area) + listed.filter { area.contains($0) }
    }

    package func destroy(authorization: WriteAuthorization) async throws -> Int? {
        try await inner.destroy(authorization: authorization)
    }

    package func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        try await inner.apply(batch, authorization: authorization)
    }
}

/// A remote where something else happens just before the first batch is applied.
package final class RacingRemote: Remote {
    private let inner: any Remote
    private let race: @Sendable () async throws -> Void
    private let isRun = Locked(false)

    package init(_ inner: any Remote, race: @escaping @Sendable () async throws -> Void) {
        self.inner = inner
        self.race = race
    }

    package var location: String { inner.location }
    package var limits: RemoteLimits { inner.limits }
    package var createsOnWrite: Bool { inner.createsOnWrite }

    package func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        try await inner.read(ids, deliver: deliver)
    }

    package func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        try await inner.stream(id, into: sink)
    }

    package func list(_ area: RemoteArea) async throws -> [FileID] { try await inner.list(area) }

    package func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        let isFirst = isRun.withLock { isRun in
            defer { isRun = true }
            return !isRun
        }
        if isFirst { try await race() }
        return try await inner.apply(batch, authorization: authorization)
    }
}
