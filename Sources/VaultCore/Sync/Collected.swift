internal import VaultFormat
internal import VaultSystem

/// A dictionary filled from several threads.
final class Collected: Sendable {
    private let contents = Locked<[FileID: RemoteFile]>([:])

    func put(_ id: FileID, _ file: RemoteFile) {
        contents.withLock { $0[id] = file }
    }

    var all: [FileID: RemoteFile] {
        contents.withLock { $0 }
    }
}
