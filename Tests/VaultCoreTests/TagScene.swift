import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A published vault in memory with two commits, a clone "a" that made it and a clone "b", and what another client with
/// the keys could do to it.
final class TagScene: Sendable {
    let clock = TestClock(stepNs: 20_000_000)
    let memory = InMemoryFileSystem()
    let scene: VaultScene

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 11, clock: clock)
        _ = try scene.create("a")
        try commit("one", in: "a")
        try await push("a")
        try await scene.clone("b")
    }

    func open(_ name: String) throws -> Vault { try scene.open(name) }

    @discardableResult
    func commit(_ text: String, in name: String, sign: Bool = true) throws -> ObjectID {
        try scene.put(text, at: text, in: name)
        let made = try open(name).commit(CommitOptions(message: text, sign: sign))
        return try #require(made.commit?.id)
    }

    @discardableResult
    func push(_ name: String, _ options: PushOptions = PushOptions()) async throws -> PushResult {
        try await open(name).push(to: scene.remote(), options)
    }

    @discardableResult
    func pull(_ name: String, _ options: PullOptions = PullOptions()) async throws -> PullResult {
        try await open(name).pull(from: scene.remote(), options)
    }

    /// Names of the tags that a clone sees, with what they are worth.
    func tags(_ name: String) throws -> [String: SignatureStatus] {
        Dictionary(uniqueKeysWithValues: try open(name).tags().map { ($0.name, $0.signature) })
    }

    // MARK: the remote

    /// A file of the remote; nil when it is not there.
    func file(_ id: FileID) async throws -> [UInt8]? {
        guard case .content(let bytes)? = try await scene.remote().readAll([id])[id] else { return nil }
        return bytes
    }

    func remoteIndex() async throws -> BranchIndex {
        let vault = try open("a")
        let bytes = try #require(try await file(.index(vault.ids.index)))
        return try vault.refs.decodeIndex(bytes, vault.ids.index)
    }

    /// Replaces the remote's index by a changed one, as another client with the write key does.
    func changeIndex(_ change: (inout BranchIndex) -> Void) async throws {
        let vault = try open("a")
        let old = try #require(try await file(.index(vault.ids.index)))
        var index = try vault.refs.decodeIndex(old, vault.ids.index)
        change(&index)
        let new = try vault.refs.encodeIndex(index, random: SecureRandom())
        try await apply([.swap(.index(vault.ids.index), expected: .bytes(old), new: new)])
    }

    /// Lets the remote's branch name another commit, whatever it named before.
    func setHead(_ head: ObjectID) async throws {
        let vault = try open("a")
        let ref = vault.ids.headRef
        let old = try #require(try await file(.ref(ref)))
        let new = try vault.refs.encode(head, random: SecureRandom())
        try await apply([.swap(.ref(ref), expected: .bytes(old), new: new)])
    }

    /// Stores an object at the remote.
    @discardableResult
    func store(_ plaintext: [UInt8]) async throws -> ObjectID {
        let bytes = try open("a").cipher.sealRandom(plaintext.span, random: SecureRandom())
        let (id, operation) = try RemoteScene.object(bytes)
        try await apply([operation])
        return id
    }

    func apply(_ operations: [WriteOperation]) async throws {
        let authorization = WriteAuthorization(vaultID: scene.keys.vaultID, writeKey: scene.keys.write)
        let outcome = try await scene.remote().apply(WriteBatch(operations), authorization: authorization)
        try #require(outcome == .applied)
    }

    /// A commit on top of `parents` with the tree of the first, signed by `key` or not at all.
    func forge(
        on parents: [ObjectID], signed key: P256PrivateKey? = nil, as keyID: KeyID? = nil
    ) async throws -> ObjectID {
        let vault = try open("a")
        let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
        let first = try #require(parents.first { (try? vault.store.holds($0)) == true })
        var commit = CommitObject(
            treeID: try graph.tree(of: first), parents: parents, timestampMs: 1_767_323_045_000, branchID: nil,
            messageEncrypted: nil)
        if let key, let keyID { try commit.sign(with: key, keyID: keyID) }
        return try await store(commit.encode())
    }

    /// The signing key of a clone.
    func signer(_ name: String) throws -> (key: P256PrivateKey, id: KeyID) {
        let vault = try open(name)
        let branch = try #require(try vault.loadState().cloneBranch)
        return (try #require(try vault.signingKey(branch)), try #require(branch.publicKeyID))
    }
}
