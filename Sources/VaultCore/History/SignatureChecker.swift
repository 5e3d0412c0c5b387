internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Checks commit signatures with the public keys of the vault (spec 06 §7.2).
final class SignatureChecker: Sendable {
    private let refs: RefStore
    private let cipher: VaultCipher
    private let index: BranchIndex
    private let cache = Locked<[KeyID: P256PublicKey?]>([:])

    init(refs: RefStore, cipher: VaultCipher, index: BranchIndex) {
        self.refs = refs
        self.cipher = cipher
        self.index = index
    }

    /// The key id that must verify a commit: its own, or that of the branch it names.
    func keyID(of commit: CommitObject) -> KeyID? {
        if let text = commit.authorKeyID, !text.isEmpty { return try? KeyID(text) }
        guard let branch = commit.branchID else { return nil }
        return index.branches.first { $0.branchID.text == branch }?.publicKeyID
    }

    func status(of commit: CommitObject) -> SignatureStatus {
        guard let signature = commit.signature, !signature.isEmpty else { return .unsigned }
        guard let id = keyID(of: commit), let key = key(id) else { return .noKey }
        return commit.verify(with: key) ? .verified : .bad
    }

    func key(_ id: KeyID) -> P256PublicKey? {
        if let known = cache.withLock({ $0[id] }) { return known }
        let key = load(id)
        cache.withLock { $0[id] = .some(key) }
        return key
    }

    private func load(_ id: KeyID) -> P256PublicKey? {
        guard let bytes = try? refs.bytes(of: .key(id), limit: Limits.keyPlaintext) else { return nil }
        return Self.publicKey(bytes, cipher: cipher)
    }

    /// The key in a stored key object; nil when it is not a public key of this vault.
    static func publicKey(_ stored: [UInt8], cipher: VaultCipher) -> P256PublicKey? {
        guard let pem = pem(stored, cipher: cipher) else { return nil }
        return try? P256PublicKey(pem: pem.span)
    }

    /// The PEM of a stored key object; nil when it is not a public key of this vault.
    ///
    /// Only such files are kept when keys are fetched (spec 02 §9).
    static func pem(_ stored: [UInt8], cipher: VaultCipher) -> [UInt8]? {
        guard let plaintext = try? cipher.open(stored.span, limit: Limits.keyPlaintext) else { return nil }
        return try? KeyObject.decode(plaintext.span)
    }
}

/// The vault's signature policy (spec 06 §7).
struct SignaturePolicy {
    let index: BranchIndex
    let graph: CommitGraph
    let checker: SignatureChecker
    let boundaries: Set<ObjectID>
    /// Further objects that are here, among which the anchor may be although the head does not lead to it.
    var held: [ObjectID] = []

    /// Refuses when a commit that the policy covers does not verify.
    ///
    /// * `head`: Where to start.
    /// * `new`: The commits reachable from `head` that were not accepted before; no others are checked.
    /// * `isClone`: Without an anchor that is held, a clone checks the head only.
    func enforce(head: ObjectID, new: () throws(VaultError) -> Set<ObjectID>, isClone: Bool) throws(VaultError) {
        guard index.hasFeature(Feature.signaturesRequired) else { return }
        let new = try new()
        let anchor = Feature.anchorDigits(in: index.features)
        // An anchor that the head does not lead to stops nothing: then everything is checked.
        let anchors = anchor.map { hex in new.union(held).filter { $0.hex.hasPrefix(hex) } } ?? []
        if isClone, anchors.isEmpty, anchor == nil || boundaries.isEmpty {
            return try check(head)
        }
        var covered: Set<ObjectID> = []
        var pending = [head]
        while let id = pending.popLast() {
            guard new.contains(id), !anchors.contains(id), covered.insert(id).inserted else { continue }
            pending.append(contentsOf: try graph.parents(id))
        }
        for id in covered.sorted() { try check(id) }
    }

    private func check(_ id: ObjectID) throws(VaultError) {
        let status = checker.status(of: try graph.commit(id))
        guard status != .verified else { return }
        throw VaultError(
            .signatureBad, "this vault requires signed commits and commit \(id.text) is \(status.rawValue)",
            object: id.text)
    }
}

extension Vault {
    /// Refuses when commits that `head` has beyond `held` do not satisfy the vault's policy.
    ///
    /// - Throws: `signatureBad` naming one of them.
    func enforcePolicy(
        of index: BranchIndex, _ graph: CommitGraph, head: ObjectID, beyond held: ObjectID?
    ) throws(VaultError) {
        try SignaturePolicy(
            index: index, graph: graph, checker: SignatureChecker(refs: refs, cipher: cipher, index: index),
            boundaries: []
        ).enforce(head: head, new: { () throws(VaultError) in try graph.exclusive(head, not: held) }, isClone: false)
    }
}
