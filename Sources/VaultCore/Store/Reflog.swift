internal import VaultFormat
internal import VaultSystem

/// `local/reflog.jsonl`: one line for every local move of a ref (spec 03 §2, §3).
///
/// Writing it never fails an operation.
struct Reflog: Sendable {
    struct Entry: Sendable, Equatable {
        var ref: RefID
        var old: ObjectID?
        var new: ObjectID
        var timeMs: Int64
    }

    let files: LocalFiles
    static let fileName = "reflog.jsonl"
    private static let kept = 1000
    private static let trimmedAbove = 1100
    static let limit = 4 << 20

    /// Appends a move; one to the same commit is not recorded.
    func append(_ entry: Entry, scratch: ScratchArea) {
        guard entry.old != entry.new else { return }
        let line = Self.line(entry)
        do throws(Errno) {
            let file = try files.layout.local.openForAppending(Self.fileName.bytes, mode: 0o666)
            let size = try file.status().size
            // What a full disk or a power cut left of a line must not take this one with it.
            var bytes = line
            if size > 0, try Self.lastByte(of: file, size: size) != UInt8(ascii: "\n") {
                bytes.insert(UInt8(ascii: "\n"), at: 0)
            }
            try file.write(bytes.span)
            trim(size + Int64(bytes.count), scratch: scratch)
        } catch { return }
    }

    private static func lastByte(of file: any File, size: Int64) throws(Errno) -> UInt8? {
        try file.seek(to: size - 1)
        return try file.read(upTo: 1).first
    }

    private static func line(_ entry: Entry) -> [UInt8] {
        let members = [
            JSONMember(name: "ref_id", value: .string(entry.ref.text)),
            JSONMember(name: "old_commit", value: entry.old.map { .string($0.text) } ?? .null),
            JSONMember(name: "new_commit", value: .string(entry.new.text)),
            JSONMember(name: "timestamp_ms", value: .integer(entry.timeMs)),
        ]
        return JSONWriter.bytes(.object(members), .python) + [UInt8(ascii: "\n")]
    }

    /// The moves, oldest first.
    ///
    /// Lines that do not read are left out.
    func entries() throws(VaultError) -> [Entry] { try lines().compactMap(\.self) }

    /// What each line says, oldest first; nil for one that does not read.
    ///
    /// - Throws: `objectCorrupt` where no file of a size that can be read stands in its place.
    func lines() throws(VaultError) -> [Entry?] {
        let bytes: [UInt8]?
        do throws(Errno) {
            bytes = try files.layout.local.contents(Self.fileName, limit: Self.limit)
        } catch {
            guard Self.isMisplaced(error) else {
                throw .io(error, "cannot read local/\(Self.fileName)", path: Self.path)
            }
            throw VaultError(
                .objectCorrupt,
                "local/\(Self.fileName) is no log: moves of branches are not recorded as long as it is there",
                hint: "vaultctl fsck --repair", path: Self.path, cause: error)
        }
        return (bytes ?? []).split(separator: UInt8(ascii: "\n")).map(Self.entry)
    }

    /// The log as it is told of one ref, newest first: the place of each line is its number.
    ///
    /// Beside its moves these are all lines that do not read, for each may have been one of them.
    ///
    /// * `ref`: Nil means every ref.
    func history(of ref: RefID?) throws(VaultError) -> [Entry?] {
        try lines().reversed().filter { $0 == nil || ref == nil || $0?.ref == ref }
    }

    static let path = "local/\(fileName)"

    /// Whether something else than a file of the log's size stands in its place.
    private static func isMisplaced(_ error: Errno) -> Bool {
        switch error {
        case .invalidArgument, .tooManyLinks, .isADirectory, .fileTooLarge, .noSuchDevice: true
        default: false
        }
    }

    /// How many lines do not read.
    func unreadableLines() throws(VaultError) -> Int { try lines().count { $0 == nil } }

    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        guard let value = try? JSONReader.parse(Array(line).span),
            let ref = value["ref_id"]?.textValue.flatMap({ try? RefID($0) }),
            let new = value["new_commit"]?.textValue.flatMap({ try? ObjectID($0) })
        else { return nil }
        return Entry(
            ref: ref, old: value["old_commit"]?.textValue.flatMap { try? ObjectID($0) }, new: new,
            timeMs: value["timestamp_ms"]?.integerValue ?? 0)
    }

    /// How long moves are remembered, in milliseconds: 90 days, as git does.
    private static let keptMs: Int64 = 90 * 86_400_000

    /// The moves that are remembered further, oldest first, and how many others there are.
    ///
    /// The last move of every ref is never forgotten: it tells what a lost ref named. Nothing is, as long as there are lines
    /// that do not read: what they were about is not known.
    func unexpired(nowMs: Int64) throws(VaultError) -> (kept: [Entry], expired: Int) {
        let all = try entries()
        if try unreadableLines() > 0 { return (all, 0) }
        var last: [RefID: Int] = [:]
        for (position, move) in all.enumerated() { last[move.ref] = position }
        let kept = all.enumerated().filter { position, move in
            last[move.ref] == position || move.timeMs >= nowMs - Self.keptMs
        }.map(\.element)
        return (kept, all.count - kept.count)
    }

    /// Stores these moves in place of all, durably.
    func replace(with moves: [Entry], scratch: ScratchArea) throws(VaultError) {
        try files.write(Self.fileName, moves.flatMap(Self.line), scratch: scratch)
    }

    /// Keeps the last moves, and the last one of every ref.
    private func trim(_ size: Int64, scratch: ScratchArea) {
        // About 150 bytes a line: a file this short can not hold too many.
        guard size > Int64(Self.trimmedAbove * 100), let bytes = try? files.read(Self.fileName, limit: Self.limit)
        else { return }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard lines.count > Self.trimmedAbove else { return }
        let moves = lines.map(Self.entry)
        var last: [RefID: Int] = [:]
        for (position, move) in moves.enumerated() { if let move { last[move.ref] = position } }
        var rest: [UInt8] = []
        for (position, line) in lines.enumerated() {
            let isLast = moves[position].map { last[$0.ref] == position } ?? false
            guard isLast || position >= lines.count - Self.kept else { continue }
            rest.append(contentsOf: line)
            rest.append(UInt8(ascii: "\n"))
        }
        // Durable: it may be all that tells what a lost ref named.
        try? scratch.replace(Self.fileName.bytes, in: files.layout.local, with: rest.span, mode: 0o600)
    }
}
