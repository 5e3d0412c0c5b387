internal import VaultFormat
internal import VaultSystem

/// The mutable files of a vault as a remote holds them at one moment: the index and a named ref, with their exact
/// bytes.
///
/// What is published later is swapped against these bytes and no others (spec 05 S3).
struct RemoteSnapshot: Sendable {
    var index: BranchIndex?
    var indexBytes: [UInt8]?
    var ref: RefID
    var refBytes: [UInt8]?
    var head: ObjectID?

    var expectedIndex: Expected { indexBytes.map { .bytes($0) } ?? .absent }
    var expectedRef: Expected { refBytes.map { .bytes($0) } ?? .absent }
    /// Nothing of the vault is there.
    var isAbsent: Bool { indexBytes == nil && refBytes == nil }

    /// Refuses a branch of ours whose name the remote uses for another ref (spec 05 §6.2).
    func checkName(of named: BranchRecord, at remote: any Remote) throws(VaultError) {
        guard let index, index.branch(id: named.branchID) == nil else { return }
        let taken = index.branches.contains {
            $0.type == .named && $0.name == named.name && $0.headRefID != named.headRefID
        }
        guard taken else { return }
        throw VaultError(
            .nameTaken,
            "\(remote.location) has another branch named '\(named.name)', made elsewhere; this clone's was never pushed",
            hint: "vaultctl branch -m \(named.name) ANOTHER gives yours another name; then push, fetch and merge")
    }
}

extension Vault {
    /// Reads a named ref and the index in one request, and applies the format gate.
    ///
    /// - Throws: what the remote throws; `refUnreadable` when a file is there that does not read, `formatUnsupported`.
    ///
    /// * `toleratesDamage`: A ref that does not read counts as one without a head, for whoever replaces it.
    func snapshot(
        of remote: any Remote, ref: RefID, toleratesDamage: Bool = false
    ) async throws -> RemoteSnapshot {
        let indexID = FileID.index(ids.index)
        // The ref first: writers store the index before the ref, so an index read later knows every branch of the head.
        let found = try await remote.readAll([.ref(ref), indexID])
        func content(_ id: FileID) throws(VaultError) -> [UInt8]? {
            switch found[id] {
            case .content(let bytes)?: return bytes
            case .absent?: return nil
            case .large?, nil:
                throw VaultError(
                    .refUnreadable, "\(id.path) on \(remote.location) is not what it should be", object: id.path)
            }
        }
        var result = RemoteSnapshot(ref: ref)
        result.indexBytes = try content(indexID)
        result.refBytes = try content(.ref(ref))
        if let bytes = result.indexBytes {
            let index = try refs.decodeIndex(bytes, ids.index)
            try Self.checkGate(index)
            result.index = index
        }
        if let bytes = result.refBytes {
            do throws(VaultError) { result.head = try refs.decode(bytes, of: ref) } catch {
                guard toleratesDamage else {
                    throw VaultError(
                        error.code, "the ref on \(remote.location) does not read: \(error.message)",
                        hint: "vaultctl push --force", object: ref.text)
                }
            }
        }
        return result
    }

    /// Runs checks of what was read of a remote, and notes for `status` when they refuse it as gone back.
    ///
    /// * `scratch`: Nil where nothing is to be changed, not even that note.
    func notingRewind(
        _ snapshot: RemoteSnapshot, _ baseline: ObjectID?, at remote: any Remote, _ scratch: ScratchArea?,
        _ check: () throws(VaultError) -> Void
    ) throws(VaultError) {
        do throws(VaultError) { try check() } catch {
            if let scratch, error.code == .refRewound {
                // The refusal is what is to be told, whatever becomes of the note.
                try? recordRefused(
                    snapshot.ref, snapshot.head, accepted: baseline, at: place(of: remote.location),
                    scratch: scratch)
            }
            throw error
        }
    }

    /// A remote that had the vault, and has nothing of it any more.
    static func gone(_ code: VaultError.Code, _ remote: any Remote) -> VaultError {
        VaultError(
            code,
            "\(remote.location) has nothing of this vault any more: it was destroyed, replaced by one with another key, "
                + "or moved",
            hint: "ask its keeper; vaultctl clone fetches what replaced it, vaultctl detach --backup keeps files and "
                + "history of this clone")
    }

    /// What can not be told where history is cut off.
    static func undecided(_ what: String, _ commit: ObjectID) -> VaultError {
        VaultError(
            .partialClone, "\(what) can not be told: the history in this clone is cut off",
            hint: "vaultctl fetch --unshallow", object: commit.text)
    }

    /// Refuses a remote head that does not descend from the last accepted one (spec 05 §6.3).
    ///
    /// Undecidable is refused.
    ///
    /// * `isGone`: Nothing of the vault is there any more.
    func checkNotRewound(
        _ head: ObjectID?, baseline: ObjectID?, graph: CommitGraph, remote: any Remote, isGone: Bool = false
    ) throws(VaultError) {
        guard let baseline, head != baseline else { return }
        if isGone { throw Self.gone(.refRewound, remote) }
        if let head, try graph.isAncestor(baseline, of: head) { return }
        if let head, try graph.endsShort([head]) {
            throw Self.undecided("whether the branch on \(remote.location) went back", head)
        }
        throw VaultError(
            .refRewound,
            head == nil
                ? "\(remote.location) no longer has the branch that this clone got from it"
                : "the branch on \(remote.location) went back: \(head?.text ?? "") does not contain "
                    + "\(baseline.text), which this clone accepted from it",
            hint: "ask who rewound it; vaultctl pull --accept-rewind takes the new state", object: head?.text)
    }
}
