internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Makes commit objects of one clone.
struct CommitBuilder {
    let cipher: VaultCipher
    let random: any RandomSource
    let branch: BranchRecord?
    let key: P256PrivateKey?

    /// Builds, signs when there is a key, encrypts and stages a commit.
    func build(
        tree: ObjectID, parents: [ObjectID], message: String, timeMs: Int64, batch: ObjectBatch
    ) throws(VaultError) -> (id: ObjectID, commit: CommitObject) {
        guard message.utf8.count <= Limits.metadataText else {
            throw VaultError(
                .usage, "the message has \(message.utf8.count) bytes; the format allows \(Limits.metadataText)")
        }
        let random = random
        let cipher = cipher
        let object: [UInt8]
        let built: CommitObject
        do throws(FormatError) {
            let sealed = message.isEmpty ? nil : try cipher.sealTextRandom(message.bytes.span, random: random)
            var commit = CommitObject(
                treeID: tree, parents: parents, timestampMs: timeMs, branchID: branch?.branchID,
                messageEncrypted: sealed)
            if let key, let keyID = branch?.publicKeyID { try commit.sign(with: key, keyID: keyID) }
            let plaintext = commit.encode()
            object = try cipher.sealRandom(plaintext.span, random: random)
            built = commit
        } catch {
            throw .format(error, "making a commit")
        }
        return (try batch.add(object), built)
    }
}

extension Vault {
    /// The decrypted message of a commit; empty when it has none.
    func message(of commit: CommitObject) throws(VaultError) -> String {
        guard let encrypted = commit.messageEncrypted else { return "" }
        let bytes = try decoding("a commit message") { () throws(FormatError) in
            try cipher.openText(encrypted.bytes.span)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A commit as results tell it.
    func describe(
        _ id: ObjectID, _ commit: CommitObject, index: BranchIndex, signature: SignatureStatus? = nil
    ) throws(VaultError) -> CommitInfo {
        let branch = commit.branchID.flatMap { text in index.branches.first { $0.branchID.text == text } }
        return CommitInfo(
            id: id, parents: commit.parents, tree: try commit.tree(of: id), message: try message(of: commit),
            timeMs: commit.timestampMs, branchID: commit.branchID, authorName: branch?.name,
            authorKeyID: commit.authorKeyID, signature: signature)
    }

    /// The time of a new commit, within what the format holds (spec 01 §8).
    func commitTimeMs() -> Int64 {
        min(max(environment.clock.nowMs, 0), 99_999_999_999_999)
    }

    /// A batch of new objects at the vault's id width.
    func newBatch(width: IDWidth, scratch: ScratchArea, isNewStore: Bool = false) -> ObjectBatch {
        ObjectBatch(
            store: store, layout: layout, scratch: scratch, width: width, pool: environment.pool,
            isNewStore: isNewStore)
    }
}
