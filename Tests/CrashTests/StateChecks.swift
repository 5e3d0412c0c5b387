import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What must hold after an operation was disturbed, whatever disturbed it.
struct StateChecks: Sendable {
    let operation: CampaignOperation
    let tally: Tally
    let what: String
    /// The machine went down, so a file that was being written may be there in part.
    var allowsTorn = false

    /// Checks a clone in which the operation was disturbed, then runs the operation again.
    ///
    /// * `succeeded`: The disturbed run told success.
    func run(on scene: VaultScene, succeeded: Bool) async {
        do {
            guard operation.startsClean || succeeded else {
                // Damaged before and not mended yet: only what comes of trying again counts.
                return try await retry(scene, CampaignOperation.State())
            }
            let found = try await CampaignOperation.state(scene, operation.clone)
            check(found, succeeded: succeeded)
            try await checkSound(scene, found)
            try await retry(scene, found)
        } catch {
            tally.violation("\(what): afterwards: \(error)")
        }
    }

    private func check(_ found: CampaignOperation.State, succeeded: Bool) {
        let (old, new) = (operation.before, operation.after)
        guard operation.startsClean else { return }
        if found.committed != old.committed, found.committed != new.committed {
            tally.violation("\(what): the head's files are neither the old nor the new ones: \(names(found.committed))")
        }
        if succeeded, found.committed != new.committed { tally.violation("\(what): success told, the head is old") }
        checkWorking(found)
        // Ids of commits differ from run to run, so a new remote head is recognised by not being the old one.
        if succeeded, old.remote != new.remote, found.remote == old.remote {
            tally.violation("\(what): success told, the remote's head is old")
        }
        if old.remote == new.remote, found.head != nil, old.head != nil, found.remote != old.remote {
            tally.violation("\(what): the remote's head moved")
        }
    }

    /// Every file holds its old or its new content, and the user's own are untouched.
    private func checkWorking(_ found: CampaignOperation.State) {
        guard let working = found.working, let after = operation.after.working else { return }
        let before = operation.before.working ?? [:]
        for path in Set(working.keys).union(before.keys).union(after.keys) {
            let now = working[path]
            if operation.untouchable.contains(path), now != before[path] {
                tally.violation("\(what): the user's \(path) changed")
            }
            guard now != before[path], now != after[path] else { continue }
            if allowsTorn, let now, let new = after[path], Self.isTorn(now, new) { continue }
            tally.violation("\(what): \(path) is neither old nor new")
        }
    }

    /// Whether bytes are a part of others: no longer, and each the same or zero.
    private static func isTorn(_ bytes: [UInt8], _ whole: [UInt8]) -> Bool {
        bytes.count <= whole.count && zip(bytes, whole).allSatisfy { $0 == 0 || $0 == $1 }
    }

    private func checkSound(_ scene: VaultScene, _ found: CampaignOperation.State) async throws {
        guard found.head != nil else { return }
        let vault = try scene.open(operation.clone)
        _ = try vault.status()
        let report = try await vault.fsck()
        if !report.isClean { tally.violation("\(what): fsck: \(report.unrepaired) \(report.signatures.bad)") }
        if let old = operation.before.head {
            // What a command takes back stays here, to be taken up again by its id.
            let isThere = try operation.goesBack ? vault.store.holds(old) : scene.history(vault).contains(old)
            if !isThere { tally.violation("\(what): the old head is not in the history") }
        }
    }

    /// The operation again, now undisturbed, leads to the expected state.
    private func retry(_ scene: VaultScene, _ found: CampaignOperation.State) async throws {
        let isDone = operation.before.head == nil && operation.startsClean && found.head != nil
        // A vault or clone that got its name is complete; making it again is refused, as it should be.
        if !isDone { try await operation.run(scene) }
        let final = try await CampaignOperation.state(scene, operation.clone)
        if final.committed != operation.after.committed { tally.violation("\(what): after the retry: other files") }
        if final.working != operation.after.working { tally.violation("\(what): after the retry: other working copy") }
        if (final.remote == nil) != (operation.after.remote == nil) {
            tally.violation("\(what): after the retry: the remote")
        }
        if operation.before.remote != operation.after.remote, final.remote != final.head {
            tally.violation("\(what): after the retry: the remote is not at the head")
        }
        let vault = try scene.open(operation.clone)
        if try await !vault.fsck().isClean { tally.violation("\(what): after the retry: fsck") }
        let left = try scene.leftovers(operation.clone)
        if !left.isEmpty, !isDone { tally.violation("\(what): after the retry: left \(left)") }
        guard operation.name.hasSuffix("push") else { return }
        try await scene.clone("check")
        if try scene.workingFiles("check") != final.committed { tally.violation("\(what): a clone of it differs") }
    }

    private func names(_ files: [String: [UInt8]]?) -> String {
        files.map { $0.keys.sorted().joined(separator: " ") } ?? "none"
    }
}
