internal import VaultFormat
internal import VaultSystem

/// The last head of each named branch that this clone accepted from one remote: its defence against a rewound remote
/// (spec 03 §2.3, 05 §1.2).
///
/// Those of the recorded remote stand in the reference's own file, those of any other in `local/vaultctl`, so that a
/// second place to publish to is judged by what was seen there. Only an accepted pull, an accepted rewind or an own push
/// moves one.
struct RemoteHeads: Sendable, Equatable {
    private(set) var heads: [RefID: ObjectID]
    /// Where the remote is, unless it is the recorded one.
    private let place: RemotePlace?
    /// The heads stand in the other record so far.
    private var isBorrowed = false
    /// The record was lost, and whoever accepts now knows.
    private var replacesLost = false

    static let fileName = "remote_heads.json"
    private static let ownName = "baselines.json"

    /// Reads the recorded remote's heads, falling back to the single legacy baseline for `tracked`.
    ///
    /// - Throws: `refRewound` when the record that should be there is lost or damaged.
    init(files: LocalFiles, config: CloneConfig, tracked: RefID) throws(VaultError) {
        heads = [:]
        place = nil
        guard let bytes = try files.read(Self.fileName) else {
            if config.remoteHeadsFile { throw Self.lost("is missing") }
            if let head = config.lastRemoteHead { heads[tracked] = head }
            return
        }
        let value: JSONValue
        do throws(VaultError) { value = try LocalFiles.object(bytes, Self.fileName) } catch {
            throw Self.lost("does not read")
        }
        heads = try Self.heads(value) { Self.lost("does not read") }
    }

    /// Reads the heads of a remote that is not the recorded one.
    ///
    /// - Throws: `refRewound` when the record does not read.
    init(files: LocalFiles, at place: RemotePlace) throws(VaultError) {
        self.place = place
        heads = try Self.stored(files)[place] ?? [:]
    }

    /// No heads.
    ///
    /// * `replacesLost`: An accepted rewind starts afresh from here, because the record was lost.
    init(at place: RemotePlace?, replacesLost: Bool = false) {
        heads = [:]
        self.place = place
        self.replacesLost = replacesLost
    }

    /// The heads of another record, to be kept for `place` from now on.
    init(_ other: RemoteHeads, at place: RemotePlace) {
        heads = other.heads
        self.place = place
        isBorrowed = true
    }

    subscript(ref: RefID) -> ObjectID? { heads[ref] }

    /// Records an accepted head, or that the branch is known to be gone; durably.
    mutating func accept(
        _ head: ObjectID?, for ref: RefID, files: LocalFiles, config: inout CloneConfig, scratch: ScratchArea
    ) throws(VaultError) {
        if heads[ref] == head && (place != nil || config.remoteHeadsFile) && !isBorrowed { return }
        heads[ref] = head
        try write(files: files, config: &config, scratch: scratch)
    }

    private func write(files: LocalFiles, config: inout CloneConfig, scratch: ScratchArea) throws(VaultError) {
        if let place {
            try Self.store(heads, at: place, files: files, replacesLost: replacesLost, scratch: scratch)
            return
        }
        try files.write(Self.fileName, Self.json(heads), scratch: scratch)
        // The file retires the legacy baseline.
        if !config.remoteHeadsFile || config.lastRemoteHead != nil {
            config.remoteHeadsFile = true
            config.lastRemoteHead = nil
            try files.write(CloneConfig.fileName, config.json, scratch: scratch)
        }
    }

    /// Keeps the recorded remote's heads under its place, for when another remote becomes the recorded one.
    func keep(as place: RemotePlace, files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        guard !heads.isEmpty else { return }
        try Self.store(heads, at: place, files: files, scratch: scratch)
    }

    /// Makes what was accepted from a place the recorded remote's heads; nothing, where nothing was.
    static func adopt(
        _ place: RemotePlace?, files: LocalFiles, config: inout CloneConfig, scratch: ScratchArea
    ) throws(VaultError) {
        var next = RemoteHeads(at: nil)
        if let place { next.heads = try stored(files)[place] ?? [:] }
        try next.write(files: files, config: &config, scratch: scratch)
    }

    /// Whether anything is known of any remote but the recorded one.
    static func hasOthers(_ files: LocalFiles) throws(VaultError) -> Bool {
        try !stored(files).isEmpty
    }

    /// Whether anything was accepted from a place, according to its own record.
    static func hasHeads(of place: RemotePlace, _ files: LocalFiles) throws(VaultError) -> Bool {
        try stored(files)[place]?.isEmpty == false
    }

    /// The heads of a branch that were accepted from any remote but the recorded one.
    ///
    /// * `lost`: Places that do not count.
    static func others(
        _ ref: RefID, _ files: LocalFiles, except lost: Set<RemotePlace> = []
    ) throws(VaultError) -> [ObjectID] {
        try stored(files).compactMap { lost.contains($0.key) ? nil : $0.value[ref] }
    }

    /// Every head that was accepted from any remote but the recorded one.
    static func allOthers(_ files: LocalFiles) throws(VaultError) -> [ObjectID] {
        try stored(files).values.flatMap { Array($0.values) }
    }

    /// Forgets what was accepted from a place that is not the recorded one.
    static func forget(_ place: RemotePlace, files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        guard try stored(files)[place] != nil else { return }
        try store(nil, at: place, files: files, scratch: scratch)
    }

    /// Takes the heads of one address along to another.
    static func rename(
        _ old: RemotePlace, to new: RemotePlace, files: LocalFiles, scratch: ScratchArea
    ) throws(VaultError) {
        let all = try stored(files)
        guard old != new, let heads = all[old], all[new] == nil else { return }
        try store(heads, at: new, files: files, scratch: scratch)
    }

    /// When the recorded remote's heads were last moved, in milliseconds since 1970; nil where that can not be told.
    static func changedMs(_ layout: CloneLayout) -> Int64? {
        (try? layout.local.status(of: fileName.bytes)).map { $0.modifiedNs / 1_000_000 }
    }

    private static func stored(_ files: LocalFiles) throws(VaultError) -> [RemotePlace: [RefID: ObjectID]] {
        func lost() -> VaultError {
            VaultError(
                .refRewound, "local/vaultctl/\(ownName) does not read, so a rewound remote could not be told",
                hint: "vaultctl pull --accept-rewind", path: "local/vaultctl/\(ownName)")
        }
        let value: JSONValue?
        do throws(VaultError) { value = try files.readOwn(ownName) } catch {
            throw error.code == .objectCorrupt ? lost() : error
        }
        guard let value else { return [:] }
        guard let members = value["remotes"]?.objectValue else { throw lost() }
        var result: [RemotePlace: [RefID: ObjectID]] = [:]
        for member in members { result[RemotePlace(text: member.name)] = try heads(member.value, lost) }
        return result
    }

    private static func store(
        _ heads: [RefID: ObjectID]?, at place: RemotePlace, files: LocalFiles, replacesLost: Bool = false,
        scratch: ScratchArea
    ) throws(VaultError) {
        var all: [RemotePlace: [RefID: ObjectID]] = [:]
        do throws(VaultError) { all = try stored(files) } catch {
            guard replacesLost, error.code == .refRewound else { throw error }
        }
        all[place] = heads
        let members = all.sorted { $0.key.text < $1.key.text }
            .map { JSONMember(name: $0.key.text, value: json($0.value)) }
        try files.writeOwn(ownName, [JSONMember(name: "remotes", value: .object(members))], scratch: scratch)
    }

    private static func json(_ heads: [RefID: ObjectID]) -> JSONValue {
        .object(
            heads.sorted { $0.key.text < $1.key.text }
                .map { JSONMember(name: $0.key.text, value: .string($0.value.text)) })
    }

    private static func heads(
        _ value: JSONValue, _ damaged: () -> VaultError
    ) throws(VaultError) -> [RefID: ObjectID] {
        guard let members = value.objectValue else { throw damaged() }
        var result: [RefID: ObjectID] = [:]
        for member in members {
            do throws(FormatError) {
                guard let text = member.value.textValue else { throw FormatError.malformed("not a text") }
                result[try RefID(member.name)] = try ObjectID(text)
            } catch {
                throw damaged()
            }
        }
        return result
    }

    private static func lost(_ how: String) -> VaultError {
        VaultError(
            .refRewound,
            "local/remote_heads.json \(how), so a rewound remote could not be told from a good one",
            hint: "vaultctl pull --accept-rewind", path: "local/remote_heads.json")
    }
}
