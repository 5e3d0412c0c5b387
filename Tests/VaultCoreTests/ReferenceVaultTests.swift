import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Clones that the reference made, opened as they are.
///
/// Expected values are the reference's own (`expected.json`).
@Suite("Vaults made by the reference")
struct ReferenceVaultTests {
    static let vaults = ["a-default", "b-format2", "c-signed-deflate"]

    private struct Opened {
        let folder: TemporaryFolder
        let vault: Vault
        let expected: JSONValue
    }

    private func open(_ name: String, clone: String = "clone") throws -> Opened {
        let folder = try TemporaryFolder("reference")
        let path = try folder.copy(vectors: "vault/vaults/\(name)/\(clone)", as: "clone")
        let vault = try Vault.open(root: path, options: OpenOptions(), environment: .production())
        return Opened(
            folder: folder, vault: vault, expected: try Vectors.json("vault/vaults/\(name)/expected.json"))
    }

    @Test(arguments: vaults) func `the log tells every commit as the reference does`(name: String) throws {
        let opened = try open(name)
        let head = try #require(opened.expected["head_commit_id"]?.text)
        let all = try #require(opened.expected["commits"]?.items)
        var byID: [String: JSONValue] = [:]
        for commit in all { byID[try #require(commit["id"]?.text)] = commit }
        var seen: [String] = []
        try opened.vault.log(LogOptions(checkSignatures: true)) { entry in
            let commit = entry.commit
            let expected = try #require(byID[commit.id.text])
            #expect(commit.tree.text == expected["tree_id"]?.text)
            #expect(commit.parents.map(\.text) == expected["parents"]?.items?.compactMap(\.text))
            #expect(commit.message == expected["message"]?.text)
            #expect(commit.timeMs == expected["timestamp_ms"]?.int)
            #expect(commit.branchID == expected["branch_id"]?.text)
            #expect(commit.authorKeyID == expected["author_key_id"]?.text)
            #expect(commit.signature?.rawValue == expected["signature"]?.text)
            seen.append(commit.id.text)
            return true
        }
        #expect(seen.first == head)
        // Everything reachable from the head, by the reference's own parent lists.
        var reachable: Set<String> = []
        var pending = [head]
        while let id = pending.popLast() {
            guard reachable.insert(id).inserted else { continue }
            pending += byID[id]?["parents"]?.items?.compactMap(\.text) ?? []
        }
        #expect(Set(seen) == reachable)
        #expect(seen.count == reachable.count)
    }

    @Test(arguments: vaults) func `every file has the reference's bytes, type and blob`(name: String) throws {
        let opened = try open(name)
        let files = try #require(opened.expected["files"]?.members)
        let listed = try opened.vault.list(recursive: true)
        #expect(listed.map { String(decoding: $0.path.bytes, as: UTF8.self) }.sorted() == files.map(\.name).sorted())
        for file in files {
            let path = try VaultPath(file.name)
            var bytes = 0
            let info = try opened.vault.read(path) { bytes += $0.count }
            #expect(info.sha256 == file.value["sha256"]?.text)
            #expect(info.blobID.text == file.value["blob_id"]?.text)
            #expect(Int64(bytes) == file.value["size"]?.int)
            #expect(info.contentType == file.value["content_type"]?.text)
        }
    }

    @Test(arguments: vaults) func `the working copy is clean`(name: String) throws {
        let opened = try open(name)
        let status = try opened.vault.status()
        #expect(status.changes == Changes())
        #expect(status.isClean)
        #expect(status.head?.text == opened.expected["head_commit_id"]?.text)
    }

    @Test(arguments: vaults) func `fsck finds nothing wrong`(name: String) async throws {
        let opened = try open(name)
        let report = try await opened.vault.fsck()
        #expect(report.isClean)
        #expect(report.missing.isEmpty && report.corrupt.isEmpty && report.broken.isEmpty)
        #expect(report.signatures.bad.isEmpty)
    }

    @Test func `a read-only clone opens with the read key it holds`() throws {
        let opened = try open("b-format2", clone: "clone-read-only")
        #expect(opened.vault.mode == .readOnly)
        #expect(try opened.vault.status().isClean)
        #expect(throws: VaultError(.readOnlyClone, "")) { try opened.vault.commit() }
    }

    @Test(arguments: vaults) func `trees rebuilt from their entries have the reference's ids`(name: String) throws {
        let opened = try open(name)
        let vault = opened.vault
        let trees = TreeReader(store: vault.store, cipher: vault.cipher)
        var pending: [ObjectID] = []
        try vault.log { entry in
            pending.append(entry.commit.tree)
            return true
        }
        var seen: Set<ObjectID> = []
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            let tree = try trees.tree(id)
            let plaintext = try tree.encode(cipher: vault.cipher)
            let sealed = try vault.cipher.sealDeterministic(plaintext.span)
            #expect(id.matches(digest: try SHA256.hash(sealed.span)))
            pending += tree.entries.compactMap(\.target.folder)
        }
        #expect(seen.count >= 5)
    }
}
