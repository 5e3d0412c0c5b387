import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// The policy `signatures-required` with its anchor, at every place where commits come in or go out.
@Suite("A vault that requires signatures")
struct SignaturePolicyTests {
    private let lab: TagScene
    /// An unsigned commit, and the head on top of it at which the policy was switched on.
    private let old: ObjectID
    private let anchor: ObjectID

    init() async throws {
        lab = try await TagScene()
        old = try lab.commit("before the policy", in: "a", sign: false)
        anchor = try lab.commit("anchor", in: "a")
        try await lab.push("a")
        try await lab.pull("b")
        let feature = try #require(Feature.anchor(head: anchor))
        try await lab.changeIndex { $0.features = ["signatures-required", feature] }
    }

    enum Fault: CaseIterable {
        case unsigned, bad, unknownKey, unsignedBelow
    }

    /// A head that the policy does not allow.
    private func head(_ fault: Fault, on parent: ObjectID? = nil) async throws -> ObjectID {
        let stranger = try P256PrivateKey.generate()
        let signer = try lab.signer("a")
        let parent = parent ?? anchor
        switch fault {
        case .unsigned: return try await lab.forge(on: [parent])
        case .bad: return try await lab.forge(on: [parent], signed: stranger, as: signer.id)
        case .unknownKey:
            return try await lab.forge(on: [parent], signed: stranger, as: KeyID("key-rnd-imm-0011223344556677"))
        case .unsignedBelow:
            let below = try await lab.forge(on: [parent])
            return try await lab.forge(on: [below, parent], signed: signer.key, as: signer.id)
        }
    }

    @Test(arguments: Fault.allCases)
    func `refuses in clone, pull and fetch`(_ fault: Fault) async throws {
        try await lab.setHead(try await head(fault))
        let before = try lab.open("b").status().head
        await #expect(throws: VaultError.coded(.signatureBad)) { try await lab.pull("b") }
        await #expect(throws: VaultError.coded(.signatureBad)) {
            try await lab.open("b").fetch(from: lab.scene.remote())
        }
        await #expect(throws: VaultError.coded(.signatureBad)) {
            try await lab.pull("b", PullOptions(acceptRewind: true))
        }
        #expect(try lab.open("b").status().head == before)
        await #expect(throws: VaultError.coded(.signatureBad)) { try await lab.scene.clone("c") }
        #expect((try? lab.memory.openDirectory("/c")) == nil)
    }

    @Test func `accepts what lies at and before the anchor, and what is signed after it`() async throws {
        try await lab.scene.clone("c")
        let after = try lab.commit("after", in: "c")
        try await lab.push("c")
        #expect(try await lab.pull("b").new == after)
        try await lab.scene.clone("d")
        #expect(try lab.open("d").status().head == after)
        // A clone that was behind the anchor gets it and what is before it by pull as well.
        #expect(try lab.scene.history(lab.open("b")).contains(old))
    }

    @Test func `lets a clone that is behind the anchor pull unsigned commits that are older`() async throws {
        let lab = try await TagScene()
        try lab.commit("unsigned", in: "a", sign: false)
        let anchor = try lab.commit("anchor", in: "a")
        try await lab.push("a")
        let feature = try #require(Feature.anchor(head: anchor))
        try await lab.changeIndex { $0.features = ["signatures-required", feature] }
        #expect(try await lab.pull("b").new == anchor)
    }

    @Test func `sends no unsigned commit, also by force`() async throws {
        // The clone has not heard of the policy yet.
        try lab.commit("unsigned", in: "b", sign: false)
        try lab.commit("signed", in: "b")
        for options in [
            PushOptions(), PushOptions(force: true), PushOptions(lease: .some(anchor)), PushOptions(dryRun: true),
            PushOptions(branchOnly: true), PushOptions(pullFirst: true),
        ] {
            await #expect(throws: VaultError.coded(.signatureBad)) { try await lab.push("b", options) }
        }
        #expect(try await lab.open("b").snapshot(of: lab.scene.remote(), ref: lab.open("b").ids.headRef).head == anchor)
    }

    enum Committing: CaseIterable {
        case commit, amend, write, revert, untrack, merge, conflict
    }

    /// What a working copy and a store hold, and the head.
    private func everything(_ name: String) throws -> [String: [UInt8]] {
        var all = try lab.scene.workingFiles(name)
        all["head"] = try lab.open(name).status().head.map { Array($0.text.utf8) }
        for id in try lab.open(name).store.allIDs() { all[id.text] = [] }
        return all
    }

    @Test(arguments: Committing.allCases)
    func `refuses a commit that could never be pushed before anything is written`(_ kind: Committing) async throws {
        try await lab.pull("b")
        let vault = try lab.open("b")
        _ = try vault.switchBranch(to: "side", creating: true)
        try lab.scene.put("theirs", at: kind == .conflict ? "one" : "theirs", in: "b")
        _ = try vault.commit()
        _ = try vault.switchBranch(to: "current")
        try lab.scene.put("ours", at: "folder/x", in: "b")
        if kind == .conflict { try lab.scene.put("ours", at: "one", in: "b") }
        _ = try vault.commit()
        if [.commit, .amend].contains(kind) { try lab.scene.put("new", at: "new", in: "b") }
        let own = try #require(try vault.loadState().cloneBranch?.publicKeyID)
        let key = Array("\(own.text).pem".utf8)
        try vault.layout.local.rename(key, to: vault.layout.local, as: Array("away".utf8), replacing: false)
        let before = try everything("b")
        func run(sign: Bool = true) throws {
            switch kind {
            case .commit: _ = try vault.commit(CommitOptions(message: "new", sign: sign))
            case .amend: _ = try vault.commit(CommitOptions(message: "new", amend: true, sign: sign))
            case .write: _ = try vault.write(WriteRequest(files: [(try VaultPath("w"), .bytes([1]))]))
            case .revert: _ = try vault.revert("HEAD")
            case .untrack: _ = try vault.untrackFolder(try VaultPath("folder"), sign: sign)
            case .merge, .conflict: _ = try vault.merge("side")
            }
        }
        #expect(throws: VaultError.coded(.keyMissing)) { try run() }
        #expect(try everything("b") == before)
        try vault.layout.local.rename(Array("away".utf8), to: vault.layout.local, as: key, replacing: false)
        if [.commit, .amend, .untrack].contains(kind) {
            #expect(throws: VaultError.coded(.refused)) { try run(sign: false) }
            #expect(try everything("b") == before)
        }
        try run()
        #expect(try everything("b") != before)
    }

    @Test func `holds for other branches when they are switched to or merged`() async throws {
        // A branch with an unsigned commit, made by a client that does not know of the policy.
        try await lab.changeIndex { $0.features = [] }
        let vault = try lab.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try lab.commit("unsigned draft", in: "a", sign: false)
        try await lab.push("a")
        let feature = try #require(Feature.anchor(head: anchor))
        try await lab.changeIndex { $0.features = ["signatures-required", feature] }
        try await lab.scene.clone("c")
        #expect(throws: VaultError.coded(.signatureBad)) { try lab.open("c").switchBranch(to: "drafts") }
        #expect(throws: VaultError.coded(.signatureBad)) { try lab.open("c").merge("drafts") }
        #expect(try lab.open("c").status().head == anchor)
        await #expect(throws: VaultError.coded(.signatureBad)) {
            try await lab.open("b").fetchBranch("drafts", from: lab.scene.remote())
        }
    }

    @Test func `checks everything when the head does not lead to the anchor`() async throws {
        // A history beside the one with the anchor: signed at its head, unsigned below.
        let signer = try lab.signer("a")
        let root = try #require(
            try lab.scene.history(lab.open("a")).first { id in
                try CommitGraph(store: lab.open("a").store, cipher: lab.open("a").cipher).parents(id).isEmpty
            })
        let below = try await lab.forge(on: [root])
        try await lab.setHead(try await lab.forge(on: [below, root], signed: signer.key, as: signer.id))
        await #expect(throws: VaultError.coded(.signatureBad)) { try await lab.scene.clone("c") }
    }

    @Test func `of a clone without an anchor asks that the head is signed`() async throws {
        try await lab.changeIndex { $0.features = ["signatures-required"] }
        try await lab.scene.clone("c")
        try await lab.setHead(try await head(.unsigned))
        await #expect(throws: VaultError.coded(.signatureBad)) { try await lab.scene.clone("d") }
    }

    @Test func `takes no commit for the anchor whose shorter id only begins like it`() async throws {
        let longer = "signed-since-" + anchor.hex + "000000000000"
        try await lab.changeIndex { $0.features = ["signatures-required", longer] }
        let behind = try await TagScene()
        try behind.commit("unsigned", in: "a", sign: false)
        let head = try behind.commit("head", in: "a")
        try await behind.push("a")
        try await behind.changeIndex {
            $0.features = ["signatures-required", "signed-since-" + head.hex + "000000000000"]
        }
        await #expect(throws: VaultError.coded(.signatureBad)) { try await behind.pull("b") }
    }

    @Test func `fetches the key of an author who is not registered`() async throws {
        let pair = try P256PrivateKey.generate()
        let id = try KeyID("key-rnd-imm-00112233445566aa")
        let plaintext = KeyObject.encode(pem: pair.publicKey.pem)
        let sealed = try lab.open("a").cipher.sealRandom(plaintext.span, random: SecureRandom())
        try await lab.apply([.key(id, sealed)])
        let commit = try await lab.forge(on: [anchor], signed: pair, as: id)
        try await lab.setHead(commit)
        #expect(try await lab.pull("b").new == commit)
        var found: [SignatureStatus?] = []
        let counts = try lab.open("b").verifyCommits { found.append($0.signature) }
        #expect(found == [.verified] && counts.verified == 1)
    }

    @Test func `is told commit by commit`() async throws {
        try await lab.changeIndex { $0.features = [] }
        let bad = try await head(.bad)
        let unsigned = try await head(.unsigned, on: anchor)
        let top = try lab.signer("a")
        try await lab.setHead(try await lab.forge(on: [anchor, bad, unsigned], signed: top.key, as: top.id))
        try await lab.pull("b")
        let vault = try lab.open("b")
        var told: [ObjectID: SignatureStatus?] = [:]
        let counts = try vault.verifyCommits(all: true) { told[$0.id] = $0.signature }
        #expect(told[bad] == .bad && told[unsigned] == .unsigned && told[old] == .unsigned && told[anchor] == .verified)
        // The first commit, "one", the anchor and the head.
        #expect(counts.verified == 4 && counts.bad == 1 && counts.unsigned == 2 && counts.noKey == 0)
        #expect(try vault.verifyCommits([anchor.text, anchor.text, bad.text]) { _ in }.verified == 1)
        #expect(try vault.verifyCommits(["\(anchor.text)..HEAD"]) { _ in }.bad == 1)
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.verifyCommits(["nothing"]) { _ in } }
    }
}
