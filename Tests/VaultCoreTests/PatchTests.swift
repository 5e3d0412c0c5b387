import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Patches are judged by the tools that take them: what they make of the old files are the new ones.
@Suite("Patches")
struct PatchTests {
    private static let pairs = 80

    private static func difference(_ name: String, _ old: [UInt8], _ new: [UInt8], context: Int) throws -> FileDiff {
        FileDiff(
            path: try VaultPath(name), status: .modified, before: .init(size: Int64(old.count)),
            after: .init(size: Int64(new.count)),
            content: .text(try #require(UnifiedDiff.hunks(old, new, context: context))))
    }

    private static func write(_ bytes: [UInt8], _ name: String, in folder: any Directory) throws {
        try folder.createFile(Array(name.utf8), mode: 0o644).write(bytes.span)
    }

    @Test(arguments: [0, 1, 2, 3, 7]) func `git and patch make the new files of the old ones and the patch`(
        context: Int
    ) throws {
        let random = SeededRandom(seed: UInt64(100 + context))
        let scratch = try TemporaryFolder("patch")
        let root = try scratch.open()
        let names = ["old", "new", "git", "patch"]
        let folders = try names.map { name in
            try root.createDirectory(Array(name.utf8), mode: 0o755)
            return try root.openDirectory(Array(name.utf8))
        }
        var patch: [UInt8] = []
        var counts: [String: (Int, Int)] = [:]
        var expected: [String: [UInt8]] = [:]
        for number in 0..<Self.pairs {
            let old = DiffSamples.text(random)
            let new = DiffSamples.edited(old, random)
            // An empty side has no name of its own in such a patch.
            guard old != new, !old.isEmpty, !new.isEmpty else { continue }
            let name = "f\(number)"
            let found = try Self.difference(name, old, new, context: context)
            patch += found.patch
            counts[name] = (found.linesAdded ?? -1, found.linesRemoved ?? -1)
            expected[name] = new
            for index in [0, 2, 3] { try Self.write(old, name, in: folders[index]) }
            try Self.write(new, name, in: folders[1])
        }
        #expect(expected.count > Self.pairs / 2)
        try Self.write(patch, "p", in: root)
        let place = scratch.path.text
        try Shell.run("cd \(place)/git && git init -q . && git apply --whitespace=nowarn --unidiff-zero ../p")
        if (try? Shell.run("command -v patch")) != nil {
            try Shell.run("cd \(place)/patch && patch -s --binary -p1 <../p && rm -f *.orig")
        } else {
            try Shell.run("cd \(place) && rm -r patch && cp -r git patch")
        }
        for index in [2, 3] {
            for (name, bytes) in expected {
                let made = try folders[index].openFile(Array(name.utf8)).readToEnd(limit: 1 << 20)
                #expect(made == bytes, "\(names[index]) \(name)")
            }
        }
        // The shortest script has as many lines as git's shortest one.
        let told = try Shell.run("cd \(place) && git diff --no-index --minimal --numstat old new || test $? = 1")
        var compared = 0
        for line in String(decoding: told, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "\t")
            let name = String(try #require(parts[2].split(separator: "/").last))
            let found = try #require(counts[name], "\(line)")
            #expect("\(found.0) \(found.1)" == "\(parts[0]) \(parts[1])", "\(name)")
            compared += 1
        }
        #expect(compared == expected.count)
    }

    @Test func `whole vaults: added, deleted and renamed files, odd names, files for folders and folders for files`()
        throws
    {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let random = SeededRandom(seed: 11)
        let names = [
            "plain", "two words", "tab\there", "quote\"and\\slash", "line\nfeed", "é", "d/e/f", "d/e/g", "d/h", "x",
            "x/y",
            "x/z z", "-dash", "trailing ", ".hidden", "d/é/ü",
        ]
        var old: [String: [UInt8]] = [:]
        for round in 0..<40 {
            let new = changed(old, names, random)
            try place(new, setting)
            var patch: [UInt8] = []
            var statuses: [String: FileDiff.Status] = [:]
            try vault.diff { file in
                patch += file.patch
                statuses[String(decoding: file.path.bytes, as: UTF8.self)] = file.status
                return true
            }
            #expect(statuses.filter { $0.value != .renamed } == Self.plainStatuses(old, new, statuses), "\(round)")
            try apply(patch, to: old, expecting: new, "round \(round)")
            _ = try vault.commit(CommitOptions(message: "\(round)", allowEmpty: true))
            var again: [UInt8] = []
            try vault.diff(DiffOptions(subject: .revisions("HEAD~1", "HEAD"))) { file in
                again += file.patch
                return true
            }
            #expect(again == patch, "\(round)")
            var back: [UInt8] = []
            try vault.diff(DiffOptions(subject: .since("HEAD..HEAD~1"))) { file in
                back += file.patch
                return true
            }
            try apply(back, to: new, expecting: old, "back from round \(round)")
            if round > 1 {
                // Two commits back against files that were edited once more.
                let edited = changed(new, names, random)
                try place(edited, setting)
                var wide: [UInt8] = []
                try vault.diff(DiffOptions(subject: .since("HEAD~1"))) { file in
                    wide += file.patch
                    return true
                }
                try apply(wide, to: old, expecting: edited, "two steps at round \(round)")
                try place(new, setting)
            }
            old = new
        }
    }

    /// What sets of paths say of the files that are not renamed.
    private static func plainStatuses(
        _ old: [String: [UInt8]], _ new: [String: [UInt8]], _ told: [String: FileDiff.Status]
    ) -> [String: FileDiff.Status] {
        let renamed = told.filter { $0.value == .renamed }.map(\.key)
        var result: [String: FileDiff.Status] = [:]
        for (path, bytes) in new where old[path] != bytes && !renamed.contains(path) {
            result[path] = old[path] == nil ? .added : .modified
        }
        let gone = old.keys.filter { new[$0] == nil }
        // As many files are gone under their name as were renamed.
        let deleted = told.filter { $0.value == .deleted }.map(\.key)
        if deleted.count == gone.count - renamed.count { for path in deleted { result[path] = .deleted } }
        return result
    }

    private func changed(
        _ files: [String: [UInt8]], _ names: [String], _ random: SeededRandom
    ) -> [String: [UInt8]] {
        var result = files
        for _ in 0..<1 + random.below(5) {
            let name = names[random.below(names.count)]
            switch random.below(5) {
            case 0: result[name] = nil
            case 1:
                let other = names[random.below(names.count)]
                guard let moved = result[other] else { continue }
                result[other] = nil
                set(name, moved, &result)
            case 2: set(name, DiffSamples.text(random, lines: 9), &result)
            default: set(name, DiffSamples.edited(result[name] ?? DiffSamples.text(random), random), &result)
            }
        }
        return result
    }

    /// A file takes the place of a folder, and of a file on the way to it.
    private func set(_ name: String, _ bytes: [UInt8], _ files: inout [String: [UInt8]]) {
        for other in files.keys where other.hasPrefix(name + "/") || name.hasPrefix(other + "/") { files[other] = nil }
        files[name] = bytes
    }

    /// Makes the working copy hold exactly these files.
    private func place(_ files: [String: [UInt8]], _ setting: TwoClones) throws {
        let root = try setting.environment.fileSystem.openDirectory(setting.folder.appending("a"))
        for entry in try root.entries() where entry.name != Array(".sg_vault".utf8) { try root.removeTree(entry.name) }
        try Self.write(files, below: root)
    }

    private static func write(_ files: [String: [UInt8]], below root: any Directory) throws {
        for (path, bytes) in files {
            var folder = root
            let parts = path.split(separator: "/").map { Array($0.utf8) }
            for part in parts.dropLast() { folder = try folder.openDirectory(part, creatingWith: 0o755) }
            try folder.createFile(parts[parts.count - 1], mode: 0o644).write(bytes.span)
        }
    }

    private func apply(
        _ patch: [UInt8], to old: [String: [UInt8]], expecting new: [String: [UInt8]], _ what: String
    ) throws {
        guard old != new else {
            #expect(patch.isEmpty, "\(what)")
            return
        }
        let scratch = try TemporaryFolder("apply")
        let root = try scratch.open()
        try root.createDirectory(Array("w".utf8), mode: 0o755)
        let work = try root.openDirectory(Array("w".utf8))
        try Self.write(old, below: work)
        try Self.write(patch, "p", in: root)
        try Shell.run("cd \(scratch.path.text)/w && git init -q . && git apply --whitespace=nowarn ../p")
        var made: [String: [UInt8]] = [:]
        try VaultScene.collect(work, behind: "", skipping: [".git"], into: &made)
        #expect(made == new, "\(what)\n\(String(decoding: patch, as: UTF8.self))")
    }
}
