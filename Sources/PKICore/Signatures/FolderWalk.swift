internal import VaultSystem

/// Visits everything in a folder and below that is no folder; no link is followed.
struct FolderWalk {
    /// Paths below the folder that are not visited.
    let excluded: Set<[UInt8]>
    let cancellation: any Cancellation

    /// What was found.
    struct Item {
        /// The path below the folder.
        let path: [UInt8]
        /// The path for messages.
        let name: String
        /// The open file; nil for what is no regular file.
        let file: (any File)?
    }

    /// Visits one after the other, in no particular order.
    /// - Throws: `cancelled` soon after somebody wishes to stop; an I/O error; what `visit` throws.
    func run(_ path: FilePath, _ visit: (Item) throws(PKIError) -> Void) throws(PKIError) {
        let directory = try attempt("cannot open the folder \(path.text)", path: path) { () throws(Errno) in
            try LinuxFileSystem().openDirectory(path)
        }
        try walk(directory, path, below: [], depth: 1, visit)
    }

    private func walk(
        _ directory: any Directory, _ root: FilePath, below prefix: [UInt8], depth: Int,
        _ visit: (Item) throws(PKIError) -> Void
    ) throws(PKIError) {
        let shown = root.appending(relative: prefix)
        guard depth <= PKILimits.manifestDepth else {
            throw PKIError(.refused, "\(shown.text) lies too deep for a manifest", path: shown.text)
        }
        let names = try attempt("cannot read the folder \(shown.text)", path: shown) { () throws(Errno) in
            try directory.entries().map(\.name)
        }
        for name in names {
            let path = prefix.isEmpty ? name : prefix + [UInt8(ascii: "/")] + name
            if excluded.contains(path) { continue }
            try checkStop(cancellation)
            let place = root.appending(relative: path)
            let what = "cannot read \(place.text)"
            let status = try attempt(what, path: place) { () throws(Errno) in try directory.status(of: name) }
            switch status.kind {
            case .directory:
                let child = try attempt(what, path: place) { () throws(Errno) in try directory.openDirectory(name) }
                try walk(child, root, below: path, depth: depth + 1, visit)
            case .regular:
                let file = try attempt(what, path: place) { () throws(Errno) in
                    let file = try directory.openFile(name)
                    // Another thing may have taken its place.
                    guard try file.status().kind == .regular else { throw Errno.invalidArgument }
                    return file
                }
                try visit(Item(path: path, name: place.text, file: file))
            case .symbolicLink, .other, .unknown:
                try visit(Item(path: path, name: place.text, file: nil))
            }
        }
    }
}
