internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Writes results for people.
struct TextRenderer {
    let call: Call

    var isVerbose: Bool { call.verbosity > 0 }

    /// A line of text, as it is.
    func line(_ text: String) throws {
        try call.output.line(text)
    }

    /// Text in a colour, where colour is wanted.
    func coloured(_ text: String, _ tone: Colour.Tone?) throws -> String {
        try call.colour().apply(tone, text)
    }

    /// The time of a commit in the local zone.
    func time(_ ms: Int64) -> String {
        LocalTime.text(ms: ms)
    }

    /// A mark, a blank and a path on a line.
    func path(_ mark: String, _ path: [UInt8], as tone: Colour.Tone? = nil, indent: Int = 0) throws {
        var bytes = [UInt8](repeating: UInt8(ascii: " "), count: indent)
        let shown = try tone.map { try coloured(mark, $0) } ?? mark
        bytes += Array(shown.utf8) + [UInt8(ascii: " ")] + TextSafety.path(path)
        try call.output.write(bytes + [UInt8(ascii: "\n")])
    }

    /// Paths that this file system could not hold.
    func notStored(_ entries: [SkippedEntry]) throws {
        guard !entries.isEmpty else { return }
        try line("Not stored, because this file system can not hold them:")
        for entry in entries { try path("?", entry.path, as: .bad, indent: 2) }
    }

    /// Changed paths, each with its mark.
    ///
    /// * `typed`: Tells them from the current directory; nil from the vault's root.
    func changes(_ changes: Changes, indent: Int = 0, typed: PathArgument? = nil) throws {
        func told(_ path: VaultPath) -> [UInt8] { typed?.typed(path.bytes) ?? path.bytes }
        for added in changes.added { try path("A", told(added), as: .good, indent: indent) }
        for modified in changes.modified { try path("M", told(modified), as: .changed, indent: indent) }
        for deleted in changes.deleted { try path("D", told(deleted), as: .bad, indent: indent) }
    }

    /// Tells of edits that lie on the shelf.
    func stashed(_ stash: StashInfo?, why: String) throws {
        guard let stash else { return }
        let count = counted(stash.changes.count, "file")
        try line("\(why) to \(count) are stashed; 'vaultctl stash pop' brings them back")
    }

    /// How long ago a moment was, in words: `3 h ago`.
    func age(ofMs moment: Int64) -> String {
        // A damaged record may tell any number.
        let seconds = call.surroundings.vault.clock.nowMs / 1000 - max(0, moment / 1000)
        return switch seconds {
        case ..<5: "just now"
        case 5..<120: "\(seconds) s ago"
        case 120..<7200: "\(seconds / 60) min ago"
        case 7200..<172_800: "\(seconds / 3600) h ago"
        default: "\(seconds / 86400) days ago"
        }
    }

    /// The digits of an id that are enough for a person.
    func short(_ id: ObjectID?) -> String {
        id.map { String($0.hex.prefix(12)) } ?? "none"
    }

    /// `1 commit`, `2 commits`.
    func counted(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Bytes with a binary unit: `12.3 KiB`.
    func size(_ bytes: Int64) -> String {
        Self.size(bytes)
    }

    /// Bytes with a binary unit: `12.3 KiB`.
    static func size(_ bytes: Int64) -> String {
        var tenths = bytes
        var unit = 0
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        guard bytes >= 1024 else { return "\(bytes) B" }
        tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024
        unit = 1
        while tenths >= 10240, unit < units.count - 1 {
            tenths /= 1024
            unit += 1
        }
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
