internal import VaultFormat

/// The folders that a clone holds (spec 06 §8.1): of all others it knows the ids in their parents' trees, which is all
/// that a commit needs to carry them on.
struct Scope: Sendable, Equatable {
    /// Sorted, none within another; none means the whole vault.
    let folders: [VaultPath]

    static let whole = Scope([])

    init(_ paths: [VaultPath]) {
        var kept: [VaultPath] = []
        for path in Set(paths).sorted(by: { $0.bytes.count < $1.bytes.count }) {
            if !kept.contains(where: { path.isAtOrBelow($0) }) { kept.append(path) }
        }
        folders = kept.sorted()
    }

    /// As `local/config.json` has it.
    init(recorded texts: [String]) throws(VaultError) {
        var paths: [VaultPath] = []
        for text in texts {
            do throws(FormatError) { paths.append(try VaultPath(text)) } catch {
                throw VaultError(
                    .objectCorrupt, "local/config.json can not be used: the member scope_paths has a wrong value",
                    path: "local/config.json", cause: error)
            }
        }
        self.init(paths)
    }

    var texts: [String] { folders.map { String(decoding: $0.bytes, as: UTF8.self) } }

    var isWhole: Bool { folders.isEmpty }

    /// Whether a file or folder is held.
    func holds(_ path: VaultPath) -> Bool {
        isWhole || folders.contains { path.isAtOrBelow($0) }
    }

    /// Whether a walk goes into a folder: a held one, or one on the way to it.
    func enters(_ folder: VaultPath) -> Bool {
        isWhole || folders.contains { folder.overlaps($0) }
    }
}
