internal import VaultFormat
internal import VaultSystem

/// A tag that was made, moved or deleted here and is not in the index yet.
///
/// It is kept apart, because whoever else works in this clone and writes the index back to the server would publish
/// an entry whose tag object is not there.
struct PendingTag: Equatable, Sendable {
    /// The entry as it will stand in the index.
    var entry: TagEntry
    /// The tag object that the index named when the change was made; nil when there was no such tag.
    var replaces: ObjectID?

    private static let fileName = OwnRecord.unpushedTags

    /// What a clone's record says.
    ///
    /// - Throws: `objectCorrupt` when it does not read.
    static func all(_ files: LocalFiles) throws(VaultError) -> [PendingTag] {
        guard let value = try files.readOwn(fileName) else { return [] }
        var result: [PendingTag] = []
        for item in value["tags"]?.items ?? [] {
            guard let member = item["entry"], let entry = TagEntry(member) else {
                throw VaultError(
                    .objectCorrupt, "local/vaultctl/\(fileName) does not read",
                    hint: "vaultctl fsck --repair",
                    path: "local/vaultctl/\(fileName)")
            }
            result.append(PendingTag(entry: entry, replaces: item["replaces"]?.text.flatMap { try? ObjectID($0) }))
        }
        return result
    }

    /// Replaces a clone's record.
    static func record(_ tags: [PendingTag], _ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        guard !tags.isEmpty else { return try files.removeOwn(fileName) }
        let items = tags.map { tag in
            JSONValue.object([
                JSONMember(name: "entry", value: tag.entry.json),
                JSONMember(name: "replaces", value: .optional(tag.replaces?.text)),
            ])
        }
        try files.writeOwn(fileName, [JSONMember(name: "tags", value: .array(items))], scratch: scratch)
    }

    /// Whether an index says the same already.
    func stands(in index: BranchIndex?) -> Bool {
        guard let found = index?.tag(named: entry.name) else { return false }
        return found == entry || (found.isDeleted && entry.isDeleted)
    }
}

/// The tags of a vault as this clone sees them: those of the index, and over them what was changed here.
struct TagView {
    let index: BranchIndex
    let pending: [PendingTag]

    /// Tags that are not deleted, sorted by name.
    var live: [TagEntry] {
        guard !pending.isEmpty else { return index.liveTags }
        let changed = Set(pending.map(\.entry.name))
        let entries = index.tags.filter { !changed.contains($0.name) } + pending.map(\.entry)
        return entries.filter { !$0.isDeleted }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// A tag that is not deleted.
    func live(named name: String) -> TagEntry? {
        let entry = change(of: name)?.entry ?? index.tag(named: name)
        return entry?.isDeleted == false ? entry : nil
    }

    /// What was changed here of a tag.
    func change(of name: String) -> PendingTag? {
        pending.first { $0.entry.name == name }
    }
}

extension Vault {
    /// The tags as this clone sees them.
    func tagView(_ index: BranchIndex) throws(VaultError) -> TagView {
        TagView(index: index, pending: try pendingTags())
    }

    /// What was changed here and not pushed.
    ///
    /// - Throws: `objectCorrupt` when the record does not read.
    func pendingTags() throws(VaultError) -> [PendingTag] { try PendingTag.all(files) }

    /// Forgets changes that the index, which is stored already, says as well.
    func settlePendingTags(in index: BranchIndex, scratch: ScratchArea) throws(VaultError) {
        let pending = try pendingTags()
        let left = pending.filter { !$0.stands(in: index) }
        if left.count < pending.count { try PendingTag.record(left, files, scratch: scratch) }
    }
}
