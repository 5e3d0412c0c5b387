internal import VaultFormat
internal import VaultSystem

/// The content of a file to be written, as far as it is read before the clone's lock is taken: whoever makes it may be
/// slow, and no other command is to wait for that.
enum WriteInput {
    case bytes([UInt8])
    /// A file without a name that holds all of it.
    case kept(any File)
    /// The beginning, and where the rest is still to be read from.
    case begun([UInt8], rest: any File)
    /// A local file.
    case file(FilePath)
}

extension Vault {
    /// Reads what comes through a descriptor.
    ///
    /// What is too large for memory is kept in a file without a name, beside a working copy that gets it anyway; in a
    /// bare clone nothing is kept in the clear, so that the rest is read under the lock there.
    func input(of content: ContentSource, for path: VaultPath) throws -> WriteInput {
        switch content {
        case .bytes(let bytes): return .bytes(bytes)
        case .file(let local): return .file(FilePath(local))
        case .descriptor(let number):
            let input = try attempt("cannot read the input") { () throws(Errno) in
                try LinuxFile(duplicating: number)
            }
            let head = try attempt("cannot read the input") { () throws(Errno) in
                try input.read(fillingUpTo: ObjectStore.inlineLimit + 1, sizeHint: 0)
            }
            if head.count <= ObjectStore.inlineLimit { return .bytes(head) }
            guard mode == .full else { return .begun(head, rest: input) }
            // A file without a name is nobody else's, so that the lock, which guards this folder, is not needed.
            let scratch = ScratchArea(directory: try layout.ownSubfolder("tmp"), random: environment.random)
            return .kept(try kept(head, input, path, scratch))
        }
    }

    private func kept(
        _ head: [UInt8], _ rest: any File, _ path: VaultPath, _ scratch: ScratchArea
    ) throws -> any File {
        let name = try scratch.freshName()
        let file = try attempt("cannot keep the input", path: path.description) { () throws(Errno) in
            let file = try scratch.directory.createUnnamedFile(passing: name, mode: 0o600)
            try file.write(head.span)
            return file
        }
        while true {
            try environment.pool.checkCancellation()
            let chunk = try attempt("cannot read the input") { () throws(Errno) in try rest.read(upTo: 1 << 20) }
            if chunk.isEmpty { return file }
            try attempt("cannot keep the input", path: path.description) { () throws(Errno) in
                try file.write(chunk.span)
            }
        }
    }

    /// Checks content for secrets and stores it.
    func store(
        _ input: WriteInput, _ path: VaultPath, _ writer: BlobWriter, _ secrets: SecretGuard, _ scratch: ScratchArea
    ) throws -> StoredBlob {
        try secrets.checkName(path)
        switch input {
        case .bytes(let bytes):
            try secrets.checkContent(path, bytes)
            let blob = try writer.store(bytes)
            try secrets.checkCopy(path, digest: blob.digest)
            return blob
        case .kept(let file):
            return try store(file, path, writer, secrets)
        case .begun(let head, let rest):
            guard secrets.wantsContent(path, head: head) else { return try writer.store(head: head, rest: rest) }
            // A large zip on a pipe has to be looked into before it is stored.
            return try store(try kept(head, rest, path, scratch), path, writer, secrets)
        case .file(let place):
            guard let name = place.lastComponent else {
                throw VaultError(.usage, "\(place.text) is not the name of a file", path: place.text)
            }
            let folder = try attempt("cannot open \(place.text)", path: place.text) { () throws(Errno) in
                try environment.fileSystem.openDirectory(place.parent)
            }
            return try FileStorer(writer: writer, secrets: secrets)
                .store(VaultPath(unchecked: name), in: folder).0
        }
    }

    private func store(
        _ file: any File, _ path: VaultPath, _ writer: BlobWriter, _ secrets: SecretGuard
    ) throws -> StoredBlob {
        let size = try attempt("cannot keep the input") { () throws(Errno) in
            try file.seek(to: 0)
            return try file.status().size
        }
        let head = try attempt("cannot keep the input") { () throws(Errno) in try file.read(upTo: 4) }
        if secrets.wantsContent(path, head: head) { try secrets.checkContent(path, file, size: size) }
        try attempt("cannot keep the input") { () throws(Errno) in try file.seek(to: 0) }
        return try writer.store(file, sizeHint: size)
    }
}
