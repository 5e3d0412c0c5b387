/// Where bytes go that are written to a path which a person named, as a shell's redirection would take it.
package enum OutputPlace: Sendable, Equatable {
    /// A regular file, to be replaced as a whole by one of the same mode; `mode` is nil when there is none yet.
    case file(FilePath, mode: UInt32?)
    /// A device, a FIFO or the like, to be written into.
    case stream(FilePath)

    /// The path without links at its end, as far as it leads anywhere.
    package var path: FilePath {
        switch self {
        case .file(let path, _), .stream(let path): path
        }
    }
}

extension FileSystem {
    /// Looks at what stands at a path, behind every link, also behind one that leads to nothing yet.
    /// - Throws: `Errno.isADirectory`, `.tooManyLinks`.
    package func outputPlace(_ path: FilePath) throws(Errno) -> OutputPlace {
        var place = path
        // As many links as Linux follows.
        for _ in 0..<40 {
            do throws(Errno) {
                let status = try status(of: place, followLinks: true)
                switch status.kind {
                case .regular: return .file(try canonicalPath(place), mode: status.mode & 0o777)
                case .directory: throw .isADirectory
                case .symbolicLink, .other, .unknown: return .stream(place)
                }
            } catch {
                guard error == .noSuchFile else { throw error }
            }
            guard let link = try? status(of: place, followLinks: false), link.kind == .symbolicLink else {
                return .file(place, mode: nil)
            }
            place = place.parent.appending(try linkTarget(of: place))
        }
        throw .tooManyLinks
    }
}
