import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What is no file in the place of one of a clone's own files: told as such, refused before anything changes, and moved
/// out of the way by a repair.
@Suite("What is no file in the place of one")
struct MisplacedFileTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        (setting, first) = try await TwoClones.published()
        // Records that may be absent are there, so that each of them can be one that is no file.
        _ = try first.createBranch("topic")
        _ = try first.createTag("v1", message: "one")
    }

    /// What stands there instead.
    enum Kind: String, CaseIterable, Sendable {
        case folder = "mkdir"
        case link = "ln -s elsewhere"
        case pipe = "mkfifo"

        var told: String {
            switch self {
            case .folder: "a directory"
            case .link: "a symbolic link"
            case .pipe: "a pipe"
            }
        }

        var kind: FileKind {
            switch self {
            case .folder: .directory
            case .link: .symbolicLink
            case .pipe: .other
            }
        }
    }

    /// Where a file lies, seen from the vault's folder.
    private func place(_ name: String) throws -> String {
        let state = try first.loadState()
        return switch name {
        case "own ref": "bare/refs/\(state.headRef.text)"
        case "named ref": "bare/refs/\(state.namedBranch.headRefID.text)"
        case "index": "bare/indexes/\(first.ids.index.text)"
        case "key": "bare/keys/\(state.cloneBranch?.publicKeyID?.text ?? "")"
        default: "local/\(name)"
        }
    }

    private func replace(_ place: String, by kind: Kind) throws {
        let path = setting.folder.appending("a").text + "/.sg_vault/" + place
        try Shell.run("rm -rf '\(path)' && \(kind.rawValue) '\(path)'")
        if kind == .folder { try Shell.run("touch '\(path)/inside'") }
    }

    private func kind(of place: String) throws -> FileKind? {
        let path = setting.folder.appending("a").appending(relative: Array((".sg_vault/" + place).utf8))
        return (try? setting.environment.fileSystem.status(of: path, followLinks: false))?.kind
    }

    private static let names =
        [
            "config.json", "base_url", "remote_heads.json", "remotes.json", "pending_registration.json", "own ref",
            "named ref", "index", "key",
        ] + OwnRecord.all.map { "vaultctl/\($0.name)" }

    /// Those that only somebody who knows can give up.
    private static let guards: Set<String> = ["remote_heads.json", "vaultctl/baselines.json"]

    /// Each name with one of the kinds, in turn.
    private static func inTurn(_ names: [String]) -> [(String, Kind)] {
        names.enumerated().map { ($1, Kind.allCases[$0 % Kind.allCases.count]) }
    }

    @Test(arguments: inTurn(names))
    func `it is told, and a repair moves it away`(name: String, kind: Kind) async throws {
        let head = try first.status().head
        let place = try place(name)
        try replace(place, by: kind)
        let report = try await setting.open("a").fsck()
        #expect(report.isDamaged)
        #expect(report.unreadable.isEmpty)
        let mended = try await setting.open("a").fsck(
            FsckOptions(repair: true), repairFrom: try setting.remote())
        #expect(mended.notes.contains { $0.contains("\(place) was \(kind.told)") && $0.contains("quarantine") })
        #expect(try first.layout.ownSubfolder("quarantine").entries().contains { $0.kind == kind.kind })
        #expect(try [nil, .regular].contains(self.kind(of: place)))
        if Self.guards.contains(name) {
            #expect(mended.broken.count == 1 && mended.broken[0].detail.contains("pull --accept-rewind"))
            _ = try await setting.open("a").pull(from: try setting.remote(), PullOptions(acceptRewind: true))
        } else {
            #expect(mended.isClean)
        }
        let again = try setting.open("a")
        #expect(try again.status().head == head)
        try setting.write("two", to: "f", in: "a")
        let next = try again.commit().commit?.id
        #expect(try await again.push(to: try setting.remote()).new == next)
    }

    @Test(arguments: inTurn(OwnRecord.all.map(\.name)))
    func `nothing is committed beside a record that could not be written`(name: String, kind: Kind) async throws {
        let head = try first.status().head
        try replace("local/vaultctl/\(name)", by: kind)
        try setting.write("two", to: "f", in: "a")
        do {
            _ = try setting.open("a").commit()
        } catch let error as VaultError {
            #expect(error.code != .ioError && error.message.contains("local/vaultctl/\(name)"))
            #expect(try first.refs.commit(of: first.loadState().headRef) == head)
        }
    }
}
