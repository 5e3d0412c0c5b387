internal import VaultFormat
internal import VaultSystem

/// What `local/vaultctl` records beside the reference's own files (spec 03 §13).
extension Vault {
    private static let seenName = "seen.json"
    private static let notStoredName = OwnRecord.notStored

    /// The remote's head of a branch as it was last read.
    struct SeenHead: Sendable, Equatable {
        var commit: ObjectID?
        /// The exact bytes of the ref there.
        var bytes: [UInt8]?
        var timeMs: Int64
        /// What had been accepted from the place by then; nil where the record does not tell.
        var judgedBy: Judge?
    }

    /// The head that a look was judged by; nil when nothing had been accepted yet.
    struct Judge: Sendable, Equatable {
        var accepted: ObjectID?
    }

    /// A head that was refused because the branch went back.
    struct RefusedHead: Sendable, Equatable {
        /// Nil where the remote did not have the branch any more.
        var commit: ObjectID?
        /// What it was judged by.
        var accepted: ObjectID?
        var timeMs: Int64
    }

    /// What was last seen of a remote.
    ///
    /// Never a baseline, never a `match`.
    func seenHead(at place: RemotePlace, ref: RefID) throws(VaultError) -> SeenHead? {
        guard let entry = try seenEntry(at: place, ref: ref), let time = entry["time_ms"]?.int else { return nil }
        return SeenHead(
            commit: Self.id(entry["commit_id"]),
            bytes: entry["ref_b64"]?.text.flatMap { Base64.decode(Array($0.utf8).span) }, timeMs: time,
            judgedBy: entry["accepted_id"].map { Judge(accepted: Self.id($0)) })
    }

    /// The head that was refused when a place was read last; nil when nothing was.
    ///
    /// Its commits need not be here.
    func refusedHead(at place: RemotePlace, ref: RefID) throws(VaultError) -> RefusedHead? {
        guard let entry = try seenEntry(at: place, ref: ref)?["refused"], let time = entry["time_ms"]?.int else {
            return nil
        }
        return RefusedHead(
            commit: Self.id(entry["commit_id"]), accepted: Self.id(entry["accepted_id"]), timeMs: time)
    }

    private func seenEntry(at place: RemotePlace, ref: RefID) throws(VaultError) -> JSONValue? {
        do throws(VaultError) {
            return try files.readOwn(Self.seenName)?["remotes"]?[name: place.text]?[name: ref.text]
        } catch {
            // Not written durably: after a power cut it may hold anything, and the next look at the remote renews it.
            guard error.code == .objectCorrupt else { throw error }
            return nil
        }
    }

    private static func id(_ value: JSONValue?) -> ObjectID? { value?.text.flatMap { try? ObjectID($0) } }

    /// When a place last answered; nil when it never did, or the record was lost.
    func lastSeenMs(at place: RemotePlace) -> Int64? {
        guard let all = try? files.readOwn(Self.seenName) else { return nil }
        return (all["remotes"]?[name: place.text]?.members ?? [])
            .flatMap { [$0.value["time_ms"]?.int, $0.value["refused"]?["time_ms"]?.int].compactMap(\.self) }.max()
    }

    /// The refs that were seen at a place.
    func seenRefs(at place: RemotePlace) throws(VaultError) -> [RefID] {
        let all = try? files.readOwn(Self.seenName)
        return (all?["remotes"]?[name: place.text]?.members ?? []).compactMap { try? RefID($0.name) }
    }

    /// The refs that were seen at any place.
    func seenRefs() -> Set<RefID> {
        let all = try? files.readOwn(Self.seenName)
        return Set(
            (all?["remotes"]?.members ?? []).flatMap { $0.value.members ?? [] }.compactMap { try? RefID($0.name) })
    }

    /// The places that were looked at.
    func seenPlaces() -> [RemotePlace] {
        let all = try? files.readOwn(Self.seenName)
        return (all?["remotes"]?.members ?? []).map { RemotePlace(text: $0.name) }
    }

    /// Forgets what was seen of some refs at a place.
    func forgetSeen(_ refs: [RefID], at place: RemotePlace, scratch: ScratchArea) throws(VaultError) {
        // One that does not read has nothing to be forgotten.
        guard !refs.isEmpty, let all = try? files.readOwn(Self.seenName), let remotes = all["remotes"] else { return }
        let names = Set(refs.map(\.text))
        let left = (remotes[name: place.text]?.members ?? []).filter { !names.contains($0.name) }
        let updated = all.setting("remotes", to: remotes.setting(place.text, to: .object(left)))
        try files.writeOwn(
            Self.seenName, (updated.members ?? []).filter { $0.name != "v" }, scratch: scratch, durable: false)
    }

    /// Every commit that a remote's branch was seen at.
    func seenCommits() -> [ObjectID] {
        guard let all = try? files.readOwn(Self.seenName) else { return [] }
        return (all["remotes"]?.members ?? []).flatMap { $0.value.members ?? [] }
            .compactMap { Self.id($0.value["commit_id"]) }
    }

    /// Notes the remote's head of a branch as it was just read.
    ///
    /// * `accepted`: The head accepted from there so far: once it is another one, that is known more lately.
    func recordSeen(
        _ ref: RefID, _ commit: ObjectID?, bytes: [UInt8]?, accepted: ObjectID?, at place: RemotePlace,
        scratch: ScratchArea, durable: Bool = false
    ) throws(VaultError) {
        try changeSeen(ref, at: place, scratch: scratch, durable: durable) { _, now in
            .record([
                "commit_id": .optional(commit?.text),
                "ref_b64": .optional(bytes.map { Base64.text($0.span) }),
                "accepted_id": .optional(accepted?.text),
                "time_ms": .integer(now),
            ])
        }
    }

    /// Notes that the remote's head of a branch was just refused, beside the one that was seen before.
    ///
    /// * `accepted`: The head it was judged by.
    func recordRefused(
        _ ref: RefID, _ commit: ObjectID?, accepted: ObjectID?, at place: RemotePlace, scratch: ScratchArea
    ) throws(VaultError) {
        try changeSeen(ref, at: place, scratch: scratch, durable: false) { entry, now in
            entry.setting(
                "refused",
                to: .record([
                    "commit_id": .optional(commit?.text),
                    "accepted_id": .optional(accepted?.text),
                    "time_ms": .integer(now),
                ]))
        }
    }

    private func changeSeen(
        _ ref: RefID, at place: RemotePlace, scratch: ScratchArea, durable: Bool,
        _ change: (JSONValue, Int64) -> JSONValue
    ) throws(VaultError) {
        let all = (try? files.readOwn(Self.seenName)) ?? .object([])
        var remotes = all["remotes"] ?? .object([])
        let known = remotes[name: place.text] ?? .object([])
        let entry = change(known[name: ref.text] ?? .object([]), environment.clock.nowMs)
        remotes = remotes.setting(place.text, to: known.setting(ref.text, to: entry))
        let members = all.setting("remotes", to: remotes).members ?? []
        try files.writeOwn(Self.seenName, members.filter { $0.name != "v" }, scratch: scratch, durable: durable)
    }

    /// Forgets what was seen at a place.
    func forgetSeen(_ place: RemotePlace, scratch: ScratchArea) throws(VaultError) {
        guard let all = try? files.readOwn(Self.seenName), let remotes = all["remotes"]?.members,
            remotes.contains(where: { $0.name == place.text })
        else { return }
        let kept = JSONValue.object(remotes.filter { $0.name != place.text })
        try files.writeOwn(Self.seenName, [JSONMember(name: "remotes", value: kept)], scratch: scratch)
    }

    /// Tracked paths that this platform can not hold; commits carry their entries (spec 10 B.11).
    func notStored() throws(VaultError) -> Set<VaultPath> {
        guard let value = try files.readOwn(Self.notStoredName) else { return [] }
        return Set(
            (value["paths"]?.items ?? []).compactMap { item in
                item.text.flatMap { Base64.decode(Array($0.utf8).span) }.map { VaultPath(unchecked: $0) }
            })
    }

    func recordNotStored(_ paths: Set<VaultPath>, scratch: ScratchArea) throws(VaultError) {
        if paths.isEmpty {
            // After every move of the working copy, where there mostly is none; one that comes back harms nothing.
            try files.removeOwn(Self.notStoredName, syncsAbsent: false)
            return
        }
        let items = paths.sorted().map { JSONValue.string(Base64.text($0.bytes.span)) }
        try files.writeOwn(
            Self.notStoredName, [JSONMember(name: "paths", value: .array(items))], scratch: scratch)
    }

    /// Keeps `checkout.json` of a sparse clone true (spec 03 §2.5); other clones have none.
    func recordCheckout(
        added: [VaultPath], removed: [VaultPath], scratch: ScratchArea
    ) throws(VaultError) {
        guard part.isSparse, !added.isEmpty || !removed.isEmpty else { return }
        let selection = try Selection.read(files)
        let touched = Set(added + removed)
        if touched.contains(where: { selection.stale[$0] != nil }) {
            try removeStale(touched, scratch: scratch)
        }
        guard let written = selection.written else { return }
        let updated = written.subtracting(removed).union(added)
        if updated != written { try writeCheckoutRecord(Array(updated), scratch: scratch) }
    }

    /// Files that were written anew are not old any more.
    private func removeStale(_ paths: Set<VaultPath>, scratch: ScratchArea) throws(VaultError) {
        guard let value = try files.readObject(Selection.staleName) else { return }
        let left = (value["paths"]?.members ?? []).filter {
            !paths.contains(VaultPath(unchecked: Array($0.name.utf8)))
        }
        let updated = value.setting("paths", to: .object(left))
        try files.write(Selection.staleName, JSONWriter.bytes(updated, .compact), scratch: scratch)
    }

    /// Refuses to change a clone that keeps its objects in packs, which this version neither reads nor writes.
    func refusePacks(_ config: CloneConfig, _ what: String) throws(VaultError) {
        guard config.usesPackStore else { return }
        throw VaultError(
            .formatUnsupported, "this clone keeps its objects in packs; this version can not \(what) there",
            hint: "make another clone", path: root)
    }

    /// Whether a commit is known to be on a remote: reachable from a head that this clone accepted or has seen.
    ///
    /// * `isStillThere`: Remotes that had lost a branch at the last look do not count.
    func isPublished(
        _ id: ObjectID, state: CloneState, isStillThere: Bool = false
    ) throws(VaultError) -> Bool {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let ref = state.namedBranch.headRefID
        let seen = (try? files.readOwn(Self.seenName))?["remotes"]?.members ?? []
        let lost = isStillThere ? Set(seen.filter(Self.hasLostABranch).map { RemotePlace(text: $0.name) }) : []
        let recorded = try recordedPlace()
        var heads: Set<ObjectID> = []
        let accepted = try RemoteHeads(files: files, config: state.config, tracked: ref)
        if let head = accepted[ref], recorded.map({ lost.contains($0) }) != true {
            heads.insert(head)
            if let shared = try refs.commit(of: ref) { heads.insert(shared) }
        }
        heads.formUnion(try RemoteHeads.others(ref, files, except: lost))
        for remote in seen where !lost.contains(RemotePlace(text: remote.name)) {
            // The named branch, and this clone's own where that was published.
            for ref in [ref, state.headRef] {
                if let head = Self.id(remote.value[name: ref.text]?["commit_id"]) { heads.insert(head) }
            }
        }
        for head in heads where try store.holds(head) {
            switch try graph.relation(id, head) {
            case .same, .behind: return true
            case .ahead, .apart: continue
            }
        }
        return false
    }

    /// Whether a place did not have a branch any more that had been accepted from it.
    private static func hasLostABranch(_ place: JSONMember) -> Bool {
        (place.value.members ?? []).contains { entry in
            let last = entry.value["refused"] ?? entry.value
            return id(last["commit_id"]) == nil && id(last["accepted_id"]) != nil
        }
    }

    private static let sendingName = "sending.json"

    /// Whether a push with large objects to a place was begun that has not been seen to end.
    ///
    /// Also where the record can not be read.
    func isSending(to place: RemotePlace) throws(VaultError) -> Bool {
        let value: JSONValue?
        do throws(VaultError) { value = try files.readOwn(Self.sendingName) } catch {
            guard error.code == .objectCorrupt else { throw error }
            return true
        }
        return Self.sendingPlaces(value).contains(place.text)
    }

    func recordSending(_ begins: Bool, to place: RemotePlace, scratch: ScratchArea) throws(VaultError) {
        var places = Self.sendingPlaces(try? files.readOwn(Self.sendingName)).filter { $0 != place.text }
        if begins { places.append(place.text) }
        guard !places.isEmpty else { return try files.removeOwn(Self.sendingName) }
        try files.writeOwn(
            Self.sendingName, [JSONMember(name: "places", value: .array(places.map { .string($0) }))],
            scratch: scratch)
    }

    private static func sendingPlaces(_ value: JSONValue?) -> [String] {
        (value?["places"]?.items ?? []).compactMap(\.text)
    }

    private static let ownHeadName = "own-head.json"

    /// Remembers the head this program wrote, to notice when another program, which takes no lock, replaces it.
    func recordOwnHead(_ id: ObjectID, ref: RefID, scratch: ScratchArea) throws(VaultError) {
        try files.writeOwn(
            Self.ownHeadName,
            [
                JSONMember(name: "ref_id", value: .string(ref.text)),
                JSONMember(name: "commit_id", value: .string(id.text)),
            ], scratch: scratch, durable: false)
    }

    /// The ref this program moved last.
    func ownHeadRef() -> RefID? {
        (try? files.readOwn(Self.ownHeadName))?["ref_id"]?.text.flatMap { try? RefID($0) }
    }

    /// The commit this program made last.
    func ownHead() -> ObjectID? {
        (try? files.readOwn(Self.ownHeadName))?["commit_id"]?.text.flatMap { try? ObjectID($0) }
    }

    /// The commit this program made last, when the clone's head no longer descends from it.
    func overwrittenHead(_ state: CloneState, graph: CommitGraph) -> ObjectID? {
        guard let value = try? files.readOwn(Self.ownHeadName),
            value["ref_id"]?.text == state.headRef.text,
            let text = value["commit_id"]?.text, let own = try? ObjectID(text),
            let head = state.head, head != own,
            (try? store.holds(own)) == true,
            let descends = try? graph.isAncestor(own, of: head)
        else { return nil }
        return descends ? nil : own
    }
}
