internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// A folder whose files are signed or checked all together.
struct SignedFolder {
    let call: Call
    /// As it was typed, without slashes at its end.
    let typed: [UInt8]
    private let path: FilePath

    static let signatureEnding = Array(".sig".utf8)
    private static let manifestEnding = Array(".sha256".utf8)

    /// - Throws: `pathNotFound` when it is no folder.
    init(_ call: Call, _ typed: [UInt8]) throws {
        self.call = call
        let slash = UInt8(ascii: "/")
        self.typed =
            typed.count > 1 && typed.last == slash ? Array(typed.reversed().drop { $0 == slash }.reversed()) : typed
        let place = try call.place(typed)
        path = place
        do throws(Errno) {
            let status = try call.surroundings.vault.fileSystem.status(of: place, followLinks: true)
            guard status.kind == .directory else { throw .notADirectory }
        } catch {
            throw VaultError.io(error, "cannot read the folder \(call.shown(place))", path: place.text)
        }
    }

    /// The manifest beside the folder; nil for one whose name does not tell how it is called.
    var manifestName: [UInt8]? {
        let name = FilePath(bytes: typed).lastComponent
        guard let name, name != Array(".".utf8), name != Array("..".utf8) else { return nil }
        return typed + Self.manifestEnding
    }

    /// Reads all files.
    ///
    /// * `manifest`: The list and its signature are no part of themselves, should they lie in the folder.
    func scan(leavingOut manifest: [UInt8]) throws -> FolderManifest {
        let excluded = try own(manifest)
        return try call.stoppable {
            try FolderManifest(scanning: path, excluding: excluded, cancellation: call.surroundings.cancellation)
        }
    }

    /// Reads all files and tells where they are not what a list says.
    func differences(from list: FolderManifest, leavingOut manifest: [UInt8]) throws -> ManifestDifferences {
        let excluded = try own(manifest)
        return try call.stoppable {
            try list.differences(from: path, excluding: excluded, cancellation: call.surroundings.cancellation)
        }
    }

    /// The paths below the folder of a manifest and its signature.
    private func own(_ manifest: [UInt8]) throws -> [[UInt8]] {
        let fileSystem = call.surroundings.vault.fileSystem
        let place = try call.place(manifest)
        do throws(Errno) {
            let root = try fileSystem.canonicalPath(path).components
            let parent = try fileSystem.canonicalPath(place.parent).components
            guard parent.starts(with: root), let name = place.lastComponent else { return [] }
            let below = (parent.dropFirst(root.count) + [name]).joined(separator: [UInt8(ascii: "/")])
            return [Array(below), Array(below) + Self.signatureEnding]
        } catch {
            throw VaultError.io(error, "cannot open the folder of \(call.shown(place))", path: place.text)
        }
    }
}
