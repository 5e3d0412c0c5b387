internal import VaultFormat

/// The last remote head of each named branch that this clone accepted: its defence against a rewound remote (spec 03
/// §2.3, 05 §1.2).
///
/// Only an accepted pull, an accepted rewind or an own push moves one.
struct RemoteHeads: Sendable, Equatable {
    private(set) var heads: [RefID: ObjectID]

    static let fileName = "remote_heads.json"

    /// Reads the file, falling back to the single legacy baseline for `tracked`.
    ///
    /// - Throws: `refRewound` when the record that should be there is lost or damaged.
    init(files: LocalFiles, config: CloneConfig, tracked: RefID) throws(VaultError) {
        heads = [:]
        guard let bytes = try files.read(Self.fileName) else {
            if config.remoteHeadsFile { throw Self.lost("is missing") }
            if let head = config.lastRemoteHead { heads[tracked] = head }
            return
        }
        let value: JSONValue
        do throws(VaultError) { value = try LocalFiles.object(bytes, Self.fileName) } catch {
            throw Self.lost("does not read")
        }
        for member in value.objectValue ?? [] {
            do throws(FormatError) {
                guard let text = member.value.textValue else { throw FormatError.malformed("not a text") }
                heads[try RefID(member.name)] = try ObjectID(text)
            } catch {
                throw Self.lost("does not read")
            }
        }
    }

    /// No heads: what an accepted rewind starts from when the record was lost.
    init() {
        heads = [:]
    }

    subscript(ref: RefID) -> ObjectID? { heads[ref] }

    /// Records an accepted head, durably, and retires the legacy baseline.
    mutating func accept(
        _ head: ObjectID, for ref: RefID, files: LocalFiles, config: inout CloneConfig, scratch: ScratchArea
    ) throws(VaultError) {
        if heads[ref] == head && config.remoteHeadsFile { return }
        heads[ref] = head
        let members = heads.sorted { $0.key.text < $1.key.text }
            .map { JSONMember(name: $0.key.text, value: .string($0.value.text)) }
        try files.write(Self.fileName, .object(members), scratch: scratch)
        if !config.remoteHeadsFile || config.lastRemoteHead != nil {
            config.remoteHeadsFile = true
            config.lastRemoteHead = nil
            try files.write(CloneConfig.fileName, config.json, scratch: scratch)
        }
    }

    private static func lost(_ how: String) -> VaultError {
        VaultError(
            .refRewound,
            "local/remote_heads.json \(how), so a rewound remote could not be told from a good one",
            hint: "vaultctl pull --accept-rewind", path: "local/remote_heads.json")
    }
}
