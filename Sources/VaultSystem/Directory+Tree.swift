extension Directory {
    /// What stands at a name; nil when nothing does.
    package func statusIfPresent(of name: [UInt8]) throws(Errno) -> FileStatus? {
        do throws(Errno) {
            return try status(of: name)
        } catch {
            if error == .noSuchFile { return nil }
            throw error
        }
    }

    /// Opens a sub-directory, creating it with `mode` when it is absent.
    ///
    /// * `durably`: Sync this directory when it was absent: what is stored in a folder is no safer than its name.
    package func openDirectory(
        _ name: [UInt8], creatingWith mode: UInt32, durably: Bool = false
    ) throws(Errno) -> any Directory {
        do throws(Errno) {
            return try openDirectory(name)
        } catch {
            if error != .noSuchFile { throw error }
        }
        do throws(Errno) {
            try createDirectory(name, mode: mode)
        } catch {
            // Another process may have made it in between.
            if error != .fileExists { throw error }
        }
        if durably {
            do throws(Errno) {
                try sync()
            } catch {
                // The next one would find it and take its name for durable; one that is in use already stays.
                try? removeDirectory(name)
                throw error
            }
        }
        return try openDirectory(name)
    }

    /// Opens a directory below this one, one name at a time, following no link; nil when no name is given.
    package func openDirectory(path names: some Sequence<[UInt8]>) throws(Errno) -> (any Directory)? {
        var current: (any Directory)?
        for name in names { current = try (current ?? self).openDirectory(name) }
        return current
    }

    /// Opens a file below this directory by a relative path of plain names; no link is followed on the way.
    package func openFile(beneath path: FilePath) throws(Errno) -> any File {
        if let directory = self as? LinuxDirectory, let file = try directory.openBeneath(path) { return file }
        let names = path.components
        guard let last = names.last else { throw .invalidArgument }
        return try (openDirectory(path: names.dropLast()) ?? self).openFile(last)
    }

    /// Creates a file without a name; where the file system has none such, it has `name` for a moment.
    package func createUnnamedFile(passing name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        do throws(Errno) {
            return try createUnnamedFile(mode: mode)
        } catch {
            guard error == .notSupported else { throw error }
        }
        let file = try createFile(name, mode: mode)
        do throws(Errno) {
            try removeFile(name)
        } catch {
            // Whoever empties the folder meanwhile has done it.
            if error != .noSuchFile { throw error }
        }
        return file
    }

    /// Reads a small file whole; nil when it is absent.
    ///
    /// - Throws: `Errno.fileTooLarge` beyond `limit` bytes, `.tooManyLinks` where a link stands, `.isADirectory`.
    package func readFileIfPresent(_ name: [UInt8], limit: Int) throws(Errno) -> [UInt8]? {
        let file: any File
        do throws(Errno) {
            file = try openFile(name)
        } catch {
            if error == .noSuchFile { return nil }
            throw error
        }
        let status = try file.status()
        switch status.kind {
        case .regular: break
        case .directory: throw .isADirectory
        default: throw .invalidArgument
        }
        if status.size > Int64(limit) { throw .fileTooLarge }
        return try file.readToEnd(limit: limit, sizeHint: Int(clamping: status.size))
    }

    /// Removes a file, a link or a directory with everything below it; absent is fine.
    ///
    /// Links are not followed.
    package func removeTree(_ name: [UInt8]) throws(Errno) {
        if try removesFile(name) { return }
        try openDirectory(name).removeContents()
        do throws(Errno) {
            try removeDirectory(name)
        } catch {
            if error != .noSuchFile { throw error }
        }
    }

    /// Removes everything in this directory.
    ///
    /// Folders in folders are moved up first, so that depth costs neither stack nor open files.
    package func removeContents() throws(Errno) {
        var pending = try entries().map(\.name)
        var number = 0
        while let name = pending.popLast() {
            if try removesFile(name) { continue }
            let folder = try openDirectory(name)
            for entry in try folder.entries() where try !folder.removesFile(entry.name) {
                var moved: [UInt8]
                repeat {
                    number += 1
                    moved = Array("vaultctl-removed-\(number)".utf8)
                } while try statusIfPresent(of: moved) != nil
                try folder.rename(entry.name, to: self, as: moved, replacing: false)
                pending.append(moved)
            }
            do throws(Errno) {
                try removeDirectory(name)
            } catch {
                if error != .noSuchFile { throw error }
            }
        }
    }

    /// Removes what is no directory; false where one stands, true also when nothing does.
    private func removesFile(_ name: [UInt8]) throws(Errno) -> Bool {
        do throws(Errno) {
            try removeFile(name)
            return true
        } catch {
            switch error {
            case .noSuchFile: return true
            // Linux says EISDIR for a directory, POSIX allows EPERM.
            case .isADirectory, .notPermitted: return false
            default: throw error
            }
        }
    }

    /// Whether an entry has exactly this name, and is not one that the file system takes for it.
    package func lists(_ name: [UInt8]) throws(Errno) -> Bool {
        try entries().contains { $0.name == name }
    }
}

extension File {
    /// Gives the file the mode of one that it takes the place of.
    ///
    /// Where the file system gives all files the same mode it may refuse to set any, also the one that the file has.
    package func keepMode(_ mode: UInt32) throws(Errno) {
        do throws(Errno) { try setMode(mode) } catch {
            guard error.isWithoutModes, try status().mode & 0o777 == mode else { throw error }
        }
    }
}

extension FileSystem {
    /// Creates a directory and what is missing above it; an existing one is fine.
    package func createDirectories(_ path: FilePath, mode: UInt32) throws(Errno) {
        do throws(Errno) {
            try createDirectory(path, mode: mode)
            return
        } catch {
            switch error {
            case .fileExists:
                // What stands there may be a file or a dangling link.
                guard try status(of: path, followLinks: true).kind == .directory else { throw .notADirectory }
                return
            case .noSuchFile where path.lastComponent != nil && path.parent != path: break
            default: throw error
            }
        }
        try createDirectories(path.parent, mode: mode)
        do throws(Errno) {
            try createDirectory(path, mode: mode)
        } catch {
            if error != .fileExists { throw error }
        }
    }
}
