import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// The verbs that take something back, and those that change what is worked on.
///
/// Each is written so that doing it again after it was done comes to the same.
extension CampaignOperation {
    static func undoing(_ keys: SceneKeys, published: InMemoryFileSystem) async throws -> [CampaignOperation] {
        let second = try scene(keys, published, 21) { scene in
            try edit(scene, "a")
            _ = try scene.open("a").commit(CommitOptions(message: "second"))
        }
        let head = try open(keys, second).loadState().head
        let edited = try scene(keys, second, 22) { scene in
            try scene.put("two, edited", at: "docs/two.txt", in: "a")
            try scene.put("loose", at: "loose.txt", in: "a")
            try scene.remove("new/fresh.txt", in: "a")
        }
        let loose = try scene(keys, second, 23) { try $0.put("loose", at: "loose.txt", in: "a") }
        let stashed = try scene(keys, edited, 27) { _ = try $0.open("a").stash() }
        let own: Set<String> = ["loose.txt"]
        return [
            try await CampaignOperation("restore", clone: "a", start: edited, keys: keys, untouchable: own) { scene in
                let paths = [try VaultPath("docs"), try VaultPath("new")]
                _ = try scene.open("a").restore(paths, discards: true)
            },
            try await CampaignOperation(
                "reset --hard", clone: "a", start: loose, keys: keys, untouchable: own, goesBack: true
            ) { scene in
                let vault = try scene.open("a")
                guard try vault.status().head == head else { return try unchanged(vault) }
                _ = try vault.reset(to: "HEAD~1", ResetOptions(hard: true, stashesEdits: true))
            },
            try await CampaignOperation("revert", clone: "a", start: loose, keys: keys, untouchable: own) { scene in
                let vault = try scene.open("a")
                guard try vault.status().head == head else { return try unchanged(vault) }
                _ = try vault.revert("HEAD")
            },
            try await CampaignOperation(
                "undo", clone: "a", start: loose, keys: keys, untouchable: own, goesBack: true
            ) { scene in
                let vault = try scene.open("a")
                guard try vault.status().head == head else { return try unchanged(vault) }
                _ = try vault.undo()
            },
            try await CampaignOperation("stash", clone: "a", start: edited, keys: keys) { scene in
                let vault = try scene.open("a")
                _ = try vault.stash()
                guard try !vault.stashes().isEmpty else { throw WrongAnswer(text: "nothing is on the shelf") }
            },
            try await CampaignOperation("stash pop", clone: "a", start: stashed, keys: keys) { scene in
                let vault = try scene.open("a")
                while try !vault.stashes().isEmpty { _ = try vault.applyStash(drop: true) }
            },
        ] + (try await branching(keys, loose))
    }

    /// What was done already is followed by a command that changes nothing and tidies up as every one does.
    private static func unchanged(_ vault: Vault) throws {
        _ = try vault.reset()
    }

    private static func open(_ keys: SceneKeys, _ memory: InMemoryFileSystem) throws -> Vault {
        try VaultScene(keys: keys, on: memory.afterKill(), seed: 24).open("a")
    }

    private static func branching(_ keys: SceneKeys, _ start: InMemoryFileSystem) async throws -> [CampaignOperation] {
        let branched = try scene(keys, start, 25) { scene in
            let vault = try scene.open("a")
            _ = try vault.switchBranch(to: "drafts", creating: true)
            try change(scene, "there", "drafts.txt")
            _ = try vault.commit(CommitOptions(paths: [try VaultPath("one.txt"), try VaultPath("drafts.txt")]))
            _ = try vault.switchBranch(to: "current")
            try change(scene, "here", "current.txt")
            _ = try vault.commit(CommitOptions(paths: [try VaultPath("one.txt"), try VaultPath("current.txt")]))
        }
        let stopped = try scene(keys, branched, 26) { _ = try $0.open("a").merge("drafts") }
        let own: Set<String> = ["loose.txt"]
        return [
            try await CampaignOperation(
                "switch", clone: "a", start: branched, keys: keys, untouchable: own, goesBack: true
            ) { scene in
                _ = try scene.open("a").switchBranch(to: "drafts")
            },
            try await CampaignOperation(
                "switch -c", clone: "a", start: branched, keys: keys, untouchable: own, goesBack: true
            ) { scene in
                let vault = try scene.open("a")
                let isThere = try vault.branches().contains { $0.name == "older" }
                _ = try vault.switchBranch(to: "older", creating: !isThere, from: isThere ? nil : "HEAD~1")
            },
            try await CampaignOperation(
                "merge that stops", clone: "a", start: branched, keys: keys, untouchable: own
            ) { scene in
                let vault = try scene.open("a")
                do { _ = try vault.merge("drafts") } catch let error as VaultError where error.code == .mergeInProgress
                {}
                guard try vault.conflicts().map(\.path) == [try VaultPath("one.txt")] else {
                    throw WrongAnswer(text: "conflicts: \(try vault.conflicts())")
                }
            },
            try await CampaignOperation(
                "merge --abort", clone: "a", start: stopped, keys: keys, untouchable: own
            ) { scene in
                let vault = try scene.open("a")
                if try vault.isMerging() { try vault.abortMerge() }
            },
            try await CampaignOperation("resolve", clone: "a", start: stopped, keys: keys, untouchable: own) { scene in
                _ = try scene.open("a").resolve(.union, paths: [try VaultPath("one.txt")])
            },
        ]
    }

    private static func change(_ scene: VaultScene, _ text: String, _ fresh: String) throws {
        try scene.put(text, at: "one.txt", in: "a")
        try scene.put(text, at: fresh, in: "a")
    }
}
