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

    /// What can not be told where history is cut off.
    static func undecided(_ what: String, _ commit: ObjectID) -> VaultError {
        VaultError(
            .partialClone, "\(what) can not be told: the history in this clone is cut off",
            hint: "vaultctl fetch --unshallow", object: commit.text)
    }

    /// Refuses a remote head that does not descend from the last accepted one (spec 05 §6.3).
    ///
    /// Undecidable is refused.
    func checkNotRewound(
        _ head: ObjectID?, baseline: ObjectID?, graph: CommitGraph, remote: any Remote
    ) throws(VaultError) {
        guard let baseline, head != baseline else { return }
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
