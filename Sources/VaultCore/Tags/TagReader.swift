internal import VaultFormat

/// Reads tag objects and tells what their signatures are worth (spec 02 §10).
struct TagReader {
    private let cipher: VaultCipher
    private let index: BranchIndex
    private let objects: any ObjectReading
    private let checker: SignatureChecker

    /// * `objects`: Where tag objects are read; nil means the clone's store.
    init(vault: Vault, index: BranchIndex, objects: (any ObjectReading)? = nil) {
        cipher = vault.cipher
        self.index = index
        self.objects = objects ?? vault.store
        checker = SignatureChecker(refs: vault.refs, cipher: vault.cipher, index: index)
    }

    /// Reads the object of a tag and checks its signature.
    ///
    /// - Throws: `objectMissing` when it was not fetched, `objectCorrupt` or `decryptFailed` when it is no tag.
    func tag(_ entry: TagEntry, isPushed: Bool = true) throws(VaultError) -> TagInfo {
        let (id, tag, target) = try read(entry)
        let tagger = index.branches.first { $0.branchID.text == tag.taggerBranch }
        return TagInfo(
            name: entry.name, id: id, target: target, message: tag.message ?? "", timeMs: tag.timestampMs,
            taggerName: tagger?.name, taggerKeyID: tag.taggerKeyID, signature: status(of: tag, named: entry.name),
            isPushed: isPushed)
    }

    /// The same for lists: a tag that can not be read is told as missing or bad.
    func look(at entry: TagEntry, isPushed: Bool = true) throws(VaultError) -> TagInfo {
        let status: SignatureStatus
        do throws(VaultError) { return try tag(entry, isPushed: isPushed) } catch {
            switch error.code {
            case .objectMissing: status = .missing
            case .objectCorrupt, .decryptFailed: status = .bad
            default: throw error
            }
        }
        return TagInfo(
            name: entry.name, id: entry.tagID, target: nil, message: "", timeMs: nil, taggerName: nil,
            taggerKeyID: nil, signature: status, isPushed: isPushed)
    }

    /// The key that a tag names as its signer's; nil when that can not be told.
    func taggerKey(_ entry: TagEntry) -> KeyID? {
        guard let text = (try? read(entry))?.tag.taggerKeyID else { return nil }
        return try? KeyID(text)
    }

    private func read(_ entry: TagEntry) throws(VaultError) -> (id: ObjectID, tag: TagObject, target: ObjectID) {
        guard let id = entry.tagID else {
            throw VaultError(.objectCorrupt, "the tag '\(entry.name)' names no object", object: entry.name)
        }
        let stored = try objects.read(id, limit: Limits.metadataPlaintext)
        let cipher = cipher
        return try decoding("tag '\(entry.name)'", object: id.text) {
            () throws(FormatError) -> (ObjectID, TagObject, ObjectID) in
            let plaintext = try cipher.open(stored.bytes.span, limit: Limits.metadataPlaintext)
            let tag = try TagObject.decode(plaintext.span)
            return (id, tag, try tag.target())
        }
    }

    /// What the signature of a tag is worth; one under another name in the index is bad.
    private func status(of tag: TagObject, named name: String) -> SignatureStatus {
        guard tag.name == name else { return .bad }
        guard let signature = tag.signature, !signature.isEmpty, let text = tag.taggerKeyID, !text.isEmpty else {
            return .unsigned
        }
        guard let id = try? KeyID(text), let key = checker.key(id) else { return .noKey }
        return tag.verify(with: key) ? .verified : .bad
    }
}
