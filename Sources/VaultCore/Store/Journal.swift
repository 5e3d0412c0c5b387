internal import VaultFormat
internal import VaultSystem

/// A move of the working copy under way, in `local/vaultctl/journal`: written before the first file and removed
/// after the ref, so that the next writing command can finish what a crash interrupted (spec 10 B.11).
struct Journal: Sendable, Equatable {
    var verb: String
    var ref: RefID
    var from: ObjectID?
    /// The commit that the head is to name; the tree that the working copy gets where a merge stops with conflicts and
    /// the head stays.
    var to: ObjectID
    var isMerge = false
    /// The branch of this clone that is to be worked on from then on, where it is another one.
    var branch: BranchID?
    /// Touched paths that had the new content before the move began.
    var kept: Set<VaultPath> = []

    private static let name = "journal"

    static func read(_ files: LocalFiles) throws(VaultError) -> Journal? {
        guard let value = try files.readOwn(name) else { return nil }
        guard let verb = value["verb"]?.text, let ref = value["ref_id"]?.text.flatMap({ try? RefID($0) }),
            let to = value["to"]?.text.flatMap({ try? ObjectID($0) })
        else {
            throw VaultError(
                .objectCorrupt, "local/vaultctl/journal does not read", hint: "vaultctl fsck --repair",
                path: "local/vaultctl/journal")
        }
        let kept = (value["kept"]?.items ?? []).compactMap { item in
            item.text.flatMap { Base64.decode(Array($0.utf8).span) }.map { VaultPath(unchecked: $0) }
        }
        return Journal(
            verb: verb, ref: ref, from: value["from"]?.text.flatMap { try? ObjectID($0) }, to: to,
            isMerge: value["merge"]?.boolean == true, branch: value["branch_id"]?.text.flatMap { try? BranchID($0) },
            kept: Set(kept))
    }

    func write(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        try files.writeOwn(
            Self.name,
            [
                JSONMember(name: "verb", value: .string(verb)),
                JSONMember(name: "ref_id", value: .string(ref.text)),
                JSONMember(name: "from", value: .optional(from?.text)),
                JSONMember(name: "to", value: .string(to.text)),
                JSONMember(name: "merge", value: .bool(isMerge)),
                JSONMember(name: "branch_id", value: .optional(branch?.text)),
                JSONMember(
                    name: "kept", value: .array(kept.sorted().map { .string(Base64.text($0.bytes.span)) })),
            ], scratch: scratch)
    }

    static func remove(_ files: LocalFiles) throws(VaultError) {
        try files.removeOwn(name)
    }
}
