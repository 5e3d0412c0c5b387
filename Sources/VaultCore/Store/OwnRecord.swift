internal import VaultFormat
internal import VaultSystem

/// The records of this program in `local/vaultctl` (spec 03 §13): every one that is true or false, and no mere cache.
///
/// What they say is read where it is used; here is what each has to look like, and what a repair does to one that does not
/// read.
struct OwnRecord: Sendable {
    enum Mending: Sendable, Equatable {
        /// It is moved away; what that means.
        case setAside(String)
        /// It is made anew from what else is known; what that may get wrong.
        case derived(String)
        /// Only somebody who knows can give it up.
        case kept
    }

    let name: String
    /// A member that each of them has.
    let member: String?
    let mending: Mending
    /// Whether it survives a power cut; where not, one that does not read is no damage.
    var isDurable = true

    static let unpushedBranches = "unpushed-branches.json"
    static let unpushedTags = "unpushed-tags.json"
    static let notStored = "not-stored.json"

    static let all: [OwnRecord] = [
        OwnRecord(
            name: unpushedBranches, member: "branches",
            mending: .derived("a branch that the remote does not have counts as never pushed")),
        OwnRecord(
            name: unpushedTags, member: "tags",
            mending: .derived("tags that were deleted here and not pushed have to be deleted again")),
        OwnRecord(
            name: notStored, member: "paths",
            mending: .derived(
                "files that are not in the working copy count as not storable here; delete with 'vaultctl rm' those "
                    + "that were deleted")),
        OwnRecord(
            name: "left-out.json", member: "branches",
            mending: .setAside("what 'rm --cached' left out is taken in again by the next commit; see vaultctl status")),
        OwnRecord(
            name: "sparse.json", member: "paths",
            mending: .setAside("new files come into the working copy after the next 'sparse add' only")),
        OwnRecord(
            name: "hidden-branches.json", member: "branches",
            mending: .setAside("branches that were deleted here are listed again")),
        OwnRecord(
            name: "previous-branch.json", member: "branch_id",
            mending: .setAside("which branch was worked on before is forgotten"), isDurable: false),
        OwnRecord(
            name: "journal", member: "to",
            mending: .setAside(
                "a command that was interrupted is not finished; see vaultctl status before the next commit")),
        OwnRecord(
            name: StashJournal.fileName, member: "stash",
            mending: .setAside("a stash that was interrupted is not finished; see vaultctl status and stash list")),
        OwnRecord(
            name: "seen.json", member: "remotes", mending: .setAside("the next fetch tells again what is there"),
            isDurable: false),
        OwnRecord(
            name: "sending.json", member: "places",
            mending: .setAside("the next push may send again what an interrupted one sent")),
        OwnRecord(
            name: "own-head.json", member: "commit_id",
            mending: .setAside(
                "another program that overwrote this clone's branch is not noticed until the next commit"),
            isDurable: false),
        OwnRecord(
            name: CloneSettings.fileName, member: nil,
            mending: .setAside("the settings of this clone are the defaults; see vaultctl config")),
        OwnRecord(
            name: "merge.json", member: "paths",
            mending: .setAside("a merge that is going on has lost its message; see vaultctl status")),
        // What this guards against would go unnoticed; the message names the command that gives it up.
        OwnRecord(name: "baselines.json", member: "remotes", mending: .kept),
    ]

    /// Reads the record; absent is fine.
    ///
    /// - Throws: `objectCorrupt`, `formatUnsupported` for a newer one, or an I/O error.
    func check(_ files: LocalFiles) throws(VaultError) {
        guard let value = try files.readOwn(name) else { return }
        if let member, value[name: member] == nil {
            throw VaultError(
                .objectCorrupt, "local/vaultctl/\(name) does not read: it has no member \(member)",
                hint: "vaultctl fsck --repair", path: "local/vaultctl/\(name)")
        }
        switch name {
        case "journal": _ = try Journal.read(files)
        case StashJournal.fileName: _ = try StashJournal.read(files)
        case Self.unpushedTags: _ = try PendingTag.all(files)
        default: break
        }
    }

    /// Whether it is there and does not read; one of a newer version may, there.
    func isDamaged(_ files: LocalFiles) throws(VaultError) -> Bool {
        do throws(VaultError) {
            try check(files)
            return false
        } catch {
            // What the system does not let be read is told by the check and left where it is.
            if error.isUnreadable || error.code == .formatUnsupported { return false }
            guard error.code == .objectCorrupt else { throw error }
            return true
        }
    }

    /// Whether something that is no file stands in its place, which no command writes over.
    func isMisplaced(_ files: LocalFiles) -> Bool {
        ((try? files.layout.ownFolder(create: false)) ?? nil)?.misplaced(name.bytes, as: name) != nil
    }

    static func newer(_ name: String) -> VaultError {
        VaultError(
            .formatUnsupported, "local/vaultctl/\(name) was written by a newer vaultctl",
            hint: "use that version, or move the file away", path: "local/vaultctl/\(name)")
    }

    /// Refuses to replace or remove a record that a newer version wrote.
    ///
    /// - Throws: `formatUnsupported`.
    static func requireKnown(_ name: String, in own: any Directory) throws(VaultError) {
        // What does not read is no version's.
        guard let bytes = try? own.contents(name, limit: Limits.metadataPlaintext),
            let value = try? JSONReader.parse(bytes.span), let version = value["v"], version != .integer(1)
        else { return }
        throw newer(name)
    }

    /// Refuses a change to the clone while a record is there that it could not write: many are written when refs and files
    /// have moved already.
    ///
    /// - Throws: `formatUnsupported` for that of a newer version, `objectCorrupt` for what is no file.
    static func requireWritable(_ layout: CloneLayout) throws(VaultError) {
        guard let own = try layout.ownFolder(create: false) else { return }
        let entries = try attempt("cannot list local/vaultctl") { () throws(Errno) in try own.entries() }
        for record in all where !record.isReadBeforeWritten {
            guard let entry = entries.first(where: { $0.name == record.name.bytes }) else { continue }
            if entry.kind.misplacedText != nil,
                let misplaced = own.misplaced(entry.name, as: "local/vaultctl/\(record.name)")
            {
                throw misplaced
            }
            try requireKnown(record.name, in: own)
        }
    }

    /// Whether each command that writes it reads it before it changes anything.
    private var isReadBeforeWritten: Bool {
        switch name {
        case "journal", StashJournal.fileName, CloneSettings.fileName: true
        default: false
        }
    }
}
