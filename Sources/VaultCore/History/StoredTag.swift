internal import VaultFormat

extension Vault {
    /// Reads the object of a tag and checks its signature.
    ///
    /// - Throws: `objectMissing` when it was not fetched, `objectCorrupt` when it is no tag.
    func tag(_ entry: TagEntry, _ state: CloneState) throws(VaultError) -> TagInfo {
        guard let id = entry.tagID else {
            throw VaultError(.objectCorrupt, "the tag '\(entry.name)' names no object", object: entry.name)
        }
        let stored = try store.read(id, limit: Limits.metadataPlaintext)
        let cipher = cipher
        let (tag, target) = try decoding("tag '\(entry.name)'", object: id.text) {
            () throws(FormatError) -> (TagObject, ObjectID) in
            let plaintext = try cipher.open(stored.bytes.span, limit: Limits.metadataPlaintext)
            let tag = try TagObject.decode(plaintext.span)
            return (tag, try tag.target())
        }
        let checker = SignatureChecker(refs: refs, cipher: cipher, index: state.index)
        let tagger = state.index.branches.first { $0.branchID.text == tag.taggerBranch }
        return TagInfo(
            name: entry.name, id: id, target: target, message: tag.message ?? "", timeMs: tag.timestampMs,
            taggerName: tagger?.name, taggerKeyID: tag.taggerKeyID,
            signature: checker.status(of: tag, named: entry.name))
    }
}

extension SignatureChecker {
    /// What the signature of a tag is worth; one under another name in the index is bad (spec 02 §10).
    func status(of tag: TagObject, named name: String) -> SignatureStatus {
        guard let signature = tag.signature, !signature.isEmpty else { return .unsigned }
        guard tag.name == name else { return .bad }
        guard let text = tag.taggerKeyID, let id = try? KeyID(text), let key = key(id) else { return .noKey }
        return tag.verify(with: key) ? .verified : .bad
    }
}
