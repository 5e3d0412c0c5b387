internal import VaultFormat
internal import VaultSystem

/// How far a rekey has come, in `local/vaultctl/rekey.json` of the new vault, so that the old one stays as it is until
/// the two change places (spec 05 §13).
struct RekeyJournal: Sendable, Equatable {
    var pending: PendingRekey
    /// What every ref of the old vault named when the new one was built.
    var heads: [RefID: ObjectID] = [:]
    var oldHead: ObjectID?
    var newHead: ObjectID?
    var commits = 0
    var objects = 0
    var unsigned = 0

    static let name = "rekey.json"

    init(_ pending: PendingRekey) {
        self.pending = pending
    }

    static func read(_ files: LocalFiles) throws(VaultError) -> RekeyJournal? {
        guard let value = try files.readOwn(name) else { return nil }
        func id(_ name: String) -> VaultID? { value[name: name]?.text.flatMap { try? VaultID($0) } }
        func object(_ name: String) -> ObjectID? { value[name: name]?.text.flatMap { try? ObjectID($0) } }
        func count(_ name: String) -> Int { Int(clamping: value[name: name]?.int ?? 0) }
        guard let phase = value["phase"]?.text.flatMap({ PendingRekey.Phase(rawValue: $0) }),
            let old = id("old_vault_id"), let new = id("new_vault_id")
        else {
            throw VaultError(
                .objectCorrupt, "the record of a rekey does not read", hint: "vaultctl rekey --abandon")
        }
        var journal = RekeyJournal(
            PendingRekey(
                phase: phase, oldVaultID: old, newVaultID: new, oldServer: value["old_server"]?.text,
                newServer: value["new_server"]?.text, oldFolder: value["old_folder"]?.text))
        for member in value["heads"]?.members ?? [] {
            guard let ref = try? RefID(member.name), let head = member.value.text.flatMap({ try? ObjectID($0) }) else {
                continue
            }
            journal.heads[ref] = head
        }
        (journal.oldHead, journal.newHead) = (object("old_head"), object("new_head"))
        (journal.commits, journal.objects, journal.unsigned) = (count("commits"), count("objects"), count("unsigned"))
        return journal
    }

    func write(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        let heads = heads.sorted { $0.key.text < $1.key.text }
            .map { JSONMember(name: $0.key.text, value: .string($0.value.text)) }
        try files.writeOwn(
            Self.name,
            [
                JSONMember(name: "phase", value: .string(pending.phase.rawValue)),
                JSONMember(name: "old_vault_id", value: .string(pending.oldVaultID.text)),
                JSONMember(name: "new_vault_id", value: .string(pending.newVaultID.text)),
                JSONMember(name: "old_server", value: .optional(pending.oldServer)),
                JSONMember(name: "new_server", value: .optional(pending.newServer)),
                JSONMember(name: "old_folder", value: .optional(pending.oldFolder)),
                JSONMember(name: "heads", value: .object(heads)),
                JSONMember(name: "old_head", value: .optional(oldHead?.text)),
                JSONMember(name: "new_head", value: .optional(newHead?.text)),
                JSONMember(name: "commits", value: .integer(Int64(commits))),
                JSONMember(name: "objects", value: .integer(Int64(objects))),
                JSONMember(name: "unsigned", value: .integer(Int64(unsigned))),
            ], scratch: scratch)
    }
}

extension CloneLayout {
    /// Whether a folder holds a vault that a rekey is making.
    static func holdsRekey(_ root: any Directory) throws(Errno) -> Bool {
        guard let new = try root.openIfPresent(newText), let local = try new.openIfPresent("local"),
            let own = try local.openIfPresent("vaultctl")
        else { return false }
        return try own.statusIfPresent(of: RekeyJournal.name.bytes) != nil
    }

    /// Whether the new vault is whole and about to take the old one's place.
    private static func isSwapped(_ root: any Directory) throws(Errno) -> Bool {
        guard let own = try root.openIfPresent(newText)?.openIfPresent("local")?.openIfPresent("vaultctl"),
            let bytes = try own.contents(RekeyJournal.name, limit: Limits.metadataPlaintext),
            let value = try? JSONReader.parse(bytes.span)
        else { return false }
        return value["phase"]?.text == PendingRekey.Phase.swapped.rawValue
    }

    /// Ends a rekey that was interrupted between the two renames that let the vaults change places.
    ///
    /// Only then is there a new vault and none under the name of one. That takes no lock: one that runs is between the
    /// two for a moment as well, and gets what it was about to do.
    static func settleRekey(_ root: any Directory) throws(Errno) {
        guard try root.statusIfPresent(of: vaultName) == nil, try holdsRekey(root), try isSwapped(root) else { return }
        do throws(Errno) {
            try root.rename(newName, to: root, as: vaultName, replacing: false)
        } catch {
            // The rekey itself, or another command, was first.
            guard try root.statusIfPresent(of: vaultName) != nil else { throw error }
            return
        }
        try root.sync()
    }
}
