internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The files of a folder for everybody: a published vault (04 §9.3).
///
/// No link is followed, no name that begins with a dot is shown, and folders are not listed.
final class StaticSite: Sendable {
    private let root: any Directory

    init(_ path: FilePath, fileSystem: any FileSystem) throws(VaultError) {
        do throws(Errno) {
            root = try fileSystem.openDirectory(path)
        } catch {
            throw .io(error, "cannot open the published folder \(path)")
        }
    }

    /// The answer for a decoded path.
    func file(_ path: String, _ conditions: VaultService.Conditions) throws -> Reply {
        var names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Array.init).dropFirst()
        if names.last?.isEmpty == true { names = names.dropLast() + [Array("index.html".utf8)] }
        let isShown = names.allSatisfy { name in
            (1...255).contains(name.count) && name.first != UInt8(ascii: ".") && !name.contains(0x5C)
        }
        guard isShown, !names.isEmpty, names.count <= 32 else { throw Refusal.notFound }
        let joined = FilePath(bytes: Array(names.joined(separator: [UInt8(ascii: "/")])))
        let file: any File
        let status: FileStatus
        do throws(Errno) {
            file = try root.openFile(beneath: joined)
            status = try file.status()
        } catch {
            if error.isAbsent || error == .tooManyLinks || error == .crossDevice { throw Refusal.notFound }
            throw error
        }
        guard status.kind == .regular else { throw Refusal.notFound }
        let tag = VaultService.tag(status)
        let isImmutable = StorePath.isImmutable(path)
        let headers: [(name: StaticString, value: String)] = [
            ("Accept-Ranges", "bytes"), ("ETag", tag), ("X-Content-Type-Options", "nosniff"),
            // A name that is not bound to its content must be asked for again.
            ("Cache-Control", isImmutable ? "public, max-age=31536000, immutable" : "no-cache"),
        ]
        let type = Self.contentType(path)
        if let known = conditions.ifNoneMatch, VaultService.names(known, tag) {
            return Reply(status: 304, contentType: type, body: .bytes([]), headers: headers)
        }
        // Parts of two states make no file.
        let range = conditions.ifRange.map { $0 == tag } ?? true ? conditions.range : nil
        return try VaultService.send(file, status.size, range: range, contentType: type, headers: headers)
    }

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "json": "application/json", "txt": "text/plain; charset=utf-8",
        "md": "text/markdown; charset=utf-8", "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon",
        "wasm": "application/wasm",
    ]

    private static func contentType(_ path: String) -> String {
        let name = path.hasSuffix("/") ? "index.html" : path[...]
        guard let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 6, !name[dot...].contains("/") else {
            return VaultService.bytesType
        }
        return types[String(name[name.index(after: dot)...]).lowercased()] ?? VaultService.bytesType
    }
}
