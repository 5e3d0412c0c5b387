internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Encrypts a history anew, under another key: contents, then folders, then commits, each with the id it gets
/// (spec 05 §13).
///
/// Everything is checked on the way: ids of what is read, content hashes of what is written.
final class Reencryption {
    private let old: Vault
    private let new: Vault
    private let batch: ObjectBatch
    private let graph: CommitGraph
    private let trees: TreeReader
    private let reader: BlobReader
    private let writer: BlobWriter
    private let state: CloneState
    private let observer: any Observer
    private(set) var commits: [ObjectID: ObjectID] = [:]
    private(set) var unsigned = 0
    private var folders: [ObjectID: ObjectID] = [:]
    private var blobs: [ObjectID: StoredBlob] = [:]
    private var signers: [KeyID: P256PrivateKey?] = [:]

    init(from old: Vault, _ state: CloneState, to new: Vault, batch: ObjectBatch, observer: any Observer) {
        (self.old, self.new, self.batch, self.state, self.observer) = (old, new, batch, state, observer)
        graph = CommitGraph(store: old.store, cipher: old.cipher)
        trees = TreeReader(store: old.store, cipher: old.cipher)
        reader = BlobReader(store: old.store, cipher: old.cipher)
        writer = BlobWriter(
            cipher: new.cipher, batch: batch, random: new.environment.random, deflates: state.deflatesBlobs)
    }

    /// The new id of a commit, which is encrypted anew with all that it reaches.
    func commit(_ head: ObjectID) throws -> ObjectID {
        var pending = [head]
        while let id = pending.last {
            try old.environment.pool.checkCancellation()
            if commits[id] != nil {
                pending.removeLast()
                continue
            }
            let missing = try graph.parents(id).filter { commits[$0] == nil }
            guard missing.isEmpty else {
                pending += missing
                continue
            }
            pending.removeLast()
            commits[id] = try convert(graph.commit(id), of: id)
            observer.progress(Progress(phase: .encrypt, done: batch.count.objects, bytes: batch.count.bytes))
        }
        guard let converted = commits[head] else { throw ObjectStore.missing(head) }
        return converted
    }

    private func convert(_ commit: CommitObject, of id: ObjectID) throws -> ObjectID {
        let tree = try folder(commit.tree(of: id))
        let message = try old.message(of: commit)
        let signer = try commit.authorKeyID.flatMap { try? KeyID($0) }.flatMap { try self.signer($0) }
        let random = new.environment.random
        let cipher = new.cipher
        let parents = commit.parents.compactMap { commits[$0] }
        let object = try decoding("a commit", object: id.text) { () throws(FormatError) in
            let sealed = message.isEmpty ? nil : try cipher.sealTextRandom(message.bytes.span, random: random)
            var made = CommitObject(
                treeID: tree, parents: parents, timestampMs: commit.timestampMs, branchID: nil,
                messageEncrypted: sealed)
            made.branchID = commit.branchID
            if let signer { try made.sign(with: signer.key, keyID: signer.id) }
            let plaintext = made.encode()
            return try cipher.sealRandom(plaintext.span, random: random)
        }
        if signer == nil, commit.signature != nil { unsigned += 1 }
        return try batch.add(object)
    }

    /// The private key of an author, where this clone holds it: of nobody else's commits can the signature be made anew.
    private func signer(_ id: KeyID) throws(VaultError) -> (key: P256PrivateKey, id: KeyID)? {
        if let known = signers[id] { return known.map { ($0, id) } }
        var key: P256PrivateKey?
        if let branch = state.index.branches.first(where: { $0.publicKeyID == id }) { key = try old.signingKey(branch) }
        signers[id] = .some(key)
        return key.map { ($0, id) }
    }

    private func folder(_ root: ObjectID) throws -> ObjectID {
        var pending: [(id: ObjectID, depth: Int)] = [(root, 0)]
        while let next = pending.last {
            if folders[next.id] != nil {
                pending.removeLast()
                continue
            }
            guard next.depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels",
                    object: root.text)
            }
            let tree = try trees.tree(next.id)
            let missing = tree.entries.compactMap(\.folder).filter { folders[$0] == nil }
            guard missing.isEmpty else {
                pending += missing.map { ($0, next.depth + 1) }
                continue
            }
            pending.removeLast()
            folders[next.id] = try convert(tree, of: next.id)
        }
        guard let converted = folders[root] else { throw ObjectStore.missing(root) }
        return converted
    }

    private func convert(_ tree: TreeObject, of id: ObjectID) throws -> ObjectID {
        try store(tree.entries.compactMap(\.file))
        var made = tree
        for position in made.entries.indices {
            switch made.entries[position].target {
            case .folder(let folder):
                guard let converted = folders[folder] else { throw ObjectStore.missing(folder) }
                made.entries[position].target = .folder(converted)
            case .file(var file):
                guard let stored = blobs[file.blobID] else { throw ObjectStore.missing(file.blobID) }
                try Self.check(stored, file)
                (file.blobID, file.isLarge) = (stored.id, stored.isLarge)
                made.entries[position].target = .file(file)
            }
        }
        let cipher = new.cipher
        let width = state.idWidth
        let sealed = try decoding("a folder", object: id.text) { () throws(FormatError) in
            try made.seal(cipher: cipher, width: width)
        }
        return try batch.add(sealed.ciphertext)
    }

    private static func check(_ stored: StoredBlob, _ entry: FileEntry) throws(VaultError) {
        guard let expected = entry.contentHash else { return }
        guard stored.size == entry.size, stored.contentHash == expected else {
            throw VaultError(
                .objectCorrupt, "the content is not the one that its folder records", hint: "vaultctl fsck",
                object: entry.blobID.text)
        }
    }

    /// Encrypts contents anew, several at once.
    private func store(_ files: [FileEntry]) throws {
        var wanted: [ObjectID: FileEntry] = [:]
        for file in files where blobs[file.blobID] == nil { wanted[file.blobID] = file }
        let list = wanted.sorted { $0.key < $1.key }.map(\.value)
        guard !list.isEmpty else { return }
        let (reader, writer) = (reader, writer)
        let stored = try old.environment.pool.map(count: list.count) { index in
            if let bytes = try reader.small(list[index]) { return try writer.store(bytes) }
            return try writer.store(from: { sink in try reader.stream(list[index], check: .during, into: sink) })
        }
        for (file, blob) in zip(list, stored) { blobs[file.blobID] = blob }
    }

    /// The new id of a tag object whose commit was encrypted anew.
    func tag(_ id: ObjectID) throws -> ObjectID {
        let stored = try old.store.read(id, limit: Limits.metadataPlaintext)
        let (oldCipher, newCipher) = (old.cipher, new.cipher)
        var (tag, target) = try decoding("tag \(id.text)", object: id.text) {
            () throws(FormatError) -> (TagObject, ObjectID) in
            let plaintext = try oldCipher.open(stored.bytes.span, limit: Limits.metadataPlaintext)
            let tag = try TagObject.decode(plaintext.span)
            return (tag, try tag.target())
        }
        tag.commitID = try commit(target).text
        let signer = try tag.taggerKeyID.flatMap { try? KeyID($0) }.flatMap { try self.signer($0) }
        tag.signature = nil
        let made = tag
        let random = new.environment.random
        let object = try decoding("a tag", object: id.text) { () throws(FormatError) in
            var made = made
            if let signer { try made.sign(with: signer.key) }
            let plaintext = made.encode()
            return try newCipher.sealRandom(plaintext.span, random: random)
        }
        return try batch.add(object)
    }
}
