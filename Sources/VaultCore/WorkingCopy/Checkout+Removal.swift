internal import VaultFormat
internal import VaultSystem

extension Checkout {
    private static var individualSyncs: Int { 16 }

    /// Removes tracked files and the folders that they leave empty.
    ///
    /// A path with anything but a plain file at it, or nothing, is left alone.
    /// - Throws: `dirtyTree` for a file that is not the one that was looked at.
    func remove(_ items: [CheckoutRemoval]) throws(VaultError) {
        var parents: Set<VaultPath> = []
        for item in items {
            let path = item.path
            do throws(Errno) {
                let folder = try root.openDirectory(beneath: path.parent?.bytes ?? [])
                let status = try folder.status(of: path.lastSegment)
                guard status.kind == .regular else { continue }
                guard item.expected.fits(status) else { throw .fileExists }
                try folder.removeFile(path.lastSegment)
            } catch .fileExists {
                throw Self.changed(path)
            } catch {
                switch error {
                case .noSuchFile, .notADirectory, .tooManyLinks: break
                default: throw .io(error, "cannot remove \(path)", path: path.description)
                }
            }
            var parent = path.parent
            while let folder = parent, parents.insert(folder).inserted { parent = folder.parent }
        }
        // Deepest first: a folder is emptied before its parent is tried.
        for folder in parents.sorted(by: { $0.segments.count > $1.segments.count }) {
            do throws(Errno) {
                try root.openDirectory(beneath: folder.parent?.bytes ?? []).removeDirectory(folder.lastSegment)
            } catch {
                switch error {
                case .directoryNotEmpty, .fileExists, .noSuchFile, .notADirectory, .tooManyLinks: break
                // A mount point stays.
                case .busy: break
                default: throw .io(error, "cannot remove the folder \(folder)", path: folder.description)
                }
            }
        }
    }

    /// Makes what was written and removed durable: one by one while it is little, for the whole file system is shared
    /// with others.
    func sync(_ written: [VaultPath], removed: [VaultPath]) throws(VaultError) {
        guard !written.isEmpty || !removed.isEmpty else { return }
        guard written.count + removed.count <= Self.individualSyncs else {
            return try attempt("cannot sync the working copy") { () throws(Errno) in try root.syncFileSystem() }
        }
        var folders: Set<VaultPath> = []
        try attempt("cannot sync the working copy") { () throws(Errno) in
            for path in written {
                do throws(Errno) {
                    try root.openDirectory(beneath: path.parent?.bytes ?? []).openFile(path.lastSegment).sync()
                } catch {
                    // What could not be stored is told elsewhere, and what a person removed since is theirs.
                    guard error == .noSuchFile || error == .nameTooLong || error == .notADirectory else { throw error }
                }
            }
            for path in written + removed {
                var parent = path.parent
                while let folder = parent, folders.insert(folder).inserted { parent = folder.parent }
            }
            for folder in folders {
                do throws(Errno) {
                    try root.openDirectory(beneath: folder.bytes).sync()
                } catch {
                    guard error == .noSuchFile || error == .nameTooLong || error == .notADirectory else { throw error }
                }
            }
            try root.sync()
        }
    }
}
