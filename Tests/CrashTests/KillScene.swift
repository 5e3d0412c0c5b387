import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A template of clones and a remote, copied for every kill, and the program that runs in the copy.
final class KillScene {
    enum Verb: String, CaseIterable {
        case commit, write, push, pull, clone
        case pullMerge = "pull with merge"
        case repair = "fsck --repair"

        /// The clone it works in.
        var clone: String {
            switch self {
            case .commit, .write, .push: "a"
            case .pull, .pullMerge, .repair: "b"
            case .clone: "c"
            }
        }
    }

    enum Kill {
        case point(FailPoint, hit: Int)
        case after(microseconds: Int)
    }

    private let folder: TemporaryFolder
    private let binary: String
    private let tally: Tally
    private let keys: SceneKeys
    private let random = SeededRandom(seed: 1)
    /// Text in every file that must not lie in a place for unfinished files.
    private static let canary = "canary-4711"

    /// The copy in which commands run; always at one path, which the clones record.
    private var work: VaultScene { scene(at: "work") }

    private func scene(at name: String) -> VaultScene {
        VaultScene(
            keys: keys, on: LinuxFileSystem(), base: folder.appending(name), seed: random.next(), workers: 2,
            clock: SystemClock())
    }

    init(_ binary: String, _ tally: Tally) async throws {
        self.binary = binary
        self.tally = tally
        folder = try TemporaryFolder("kill")
        keys = try SceneKeys.shared()
        try LinuxFileSystem().createDirectory(folder.appending("work"), mode: 0o700)
        let scene = work
        try keys.text.withBytes { bytes in
            try LinuxFileSystem().openDirectory(folder.path).createFile(Array("key".utf8), mode: 0o600).write(bytes)
        }
        let first = try scene.create("a")
        for number in 0..<3 {
            try scene.put("\(Self.canary) file \(number)", at: "docs/\(number).txt", in: "a")
        }
        try scene.put("\(Self.canary) going", at: "going.txt", in: "a")
        _ = try first.commit(CommitOptions(message: "first"))
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        // A clone that has work of its own, for a merge.
        try shell("cp -a b m")
        _ = try scene.open("m").write(
            WriteRequest(files: [(try VaultPath("from-m.txt"), .bytes(Array("\(Self.canary) m".utf8)))]))
        try scene.put("\(Self.canary) changed", at: "docs/0.txt", in: "a")
        try scene.put("\(Self.canary) new", at: "more/new.txt", in: "a")
        try scene.remove("going.txt", in: "a")
        // With and without the second commit, pushed and not.
        try shell("cp -a . ../before-commit")
        _ = try scene.open("a").commit(CommitOptions(message: "second"))
        try shell("cp -a . ../before-push")
        _ = try await scene.open("a").push(to: scene.remote())
        try shell("cp -a . ../before-pull")
    }

    /// Runs a shell command in the working copy's folder; gives its exit code.
    @discardableResult
    private func shell(_ command: String) throws -> (code: Int32, output: String) {
        let line = "cd '\(work.base.text)' 2>/dev/null && { \(command); } 2>&1"
        let result = try Subprocess.capture(line, removingFromEnvironment: [], limit: 1 << 20)
        return (result.exitCode, String(decoding: result.output, as: UTF8.self))
    }

    private func command(_ verb: Verb) -> String {
        let work = work.base.text
        return switch verb {
        case .commit: "'\(binary)' -C a commit -m second"
        case .write: "printf '\(Self.canary) written' | '\(binary)' -C a write docs/1.txt"
        case .push: "'\(binary)' -C a push"
        case .pull, .pullMerge: "'\(binary)' -C b pull"
        case .clone: "'\(binary)' clone --key-file ../key --server '\(work)/remote' \(keys.vaultID.text) c"
        case .repair: "'\(binary)' -C b fsck --repair"
        }
    }

    /// Puts the state in place from which a verb starts.
    private func reset(_ verb: Verb) throws {
        let start =
            switch verb {
            case .commit, .write: "before-commit"
            case .push: "before-push"
            case .pull, .pullMerge, .clone, .repair: "before-pull"
            }
        var line = "cd '\(folder.path.text)' && rm -rf work && cp -a \(start) work"
        if verb == .pullMerge { line += " && rm -rf work/b && mv work/m work/b" }
        if verb == .repair { line += " && for f in $(ls work/b/.sg_vault/bare/data/* | head -3); do : >$f; done" }
        let result = try Subprocess.capture("{ \(line); } 2>&1", removingFromEnvironment: [], limit: 1 << 16)
        guard result.exitCode == 0 else { throw Errno.ioError }
    }

    /// Nanoseconds that an undisturbed run takes.
    func duration(_ verb: Verb) throws -> Int64 {
        try reset(verb)
        let start = SystemClock().monotonicNs
        let result = try shell(command(verb))
        if result.code != 0 { tally.violation("\(verb.rawValue), undisturbed: \(result)") }
        return SystemClock().monotonicNs - start
    }

    /// One kill, and everything after it.
    ///
    /// Returns false when the run ended before it came to the named point.
    func round(_ verb: Verb, _ kill: Kill) async throws -> Bool {
        try reset(verb)
        let line: String
        let what: String
        switch kill {
        case .point(let point, let hit):
            line = "VAULTCTL_FAILPOINT=\(point.rawValue):\(hit); export VAULTCTL_FAILPOINT; \(command(verb))"
            what = "\(verb.rawValue) at \(point.rawValue):\(hit)"
        case .after(let microseconds):
            let fraction = "\(microseconds % 1_000_000 + 1_000_000)".dropFirst()
            let timeout = "timeout -s KILL \(microseconds / 1_000_000).\(fraction)"
            line = command(verb).replacing("'\(binary)'", with: "\(timeout) '\(binary)'")
            what = "\(verb.rawValue) after \(microseconds) µs"
        }
        let ended = try shell(line).code
        if ended == 0 {
            if case .point = kill { return false }
            tally.count("ended first")
        } else if ended == 137 {
            if case .point = kill { tally.count("killed at a named point") } else { tally.count("killed at random") }
        } else {
            tally.violation("\(what): exit \(ended)")
        }
        try checkSecrets(verb, what)
        try await checkNext(verb, what)
        return true
    }

    /// No key and, but for a file on its way to its name, no plaintext lies in a place for unfinished files.
    ///
    /// A file that takes the place of another has a name there for the moment between two system calls, as Linux can
    /// not put a file without a name in the place of another. One such file for each thread may be met, until the
    /// next command.
    private func checkSecrets(_ verb: Verb, _ what: String) throws {
        let found = try shell("grep -rl '\(Self.canary)' */.sg_vault/local/vaultctl/tmp remote/.vaultctl 2>/dev/null")
        let files = found.output.split(separator: "\n")
        if !files.isEmpty { tally.count("met between two names", files.count) }
        let isOnItsWay = files.count <= WorkerPool.defaultThreads && files.allSatisfy { $0.contains("/vaultctl/tmp/") }
        if !isOnItsWay || (!files.isEmpty && (verb == .commit || verb == .push || verb == .repair)) {
            tally.violation("\(what): plaintext in \(found.output)")
        }
        let key = try shell("grep -rlFf ../key */.sg_vault/local/vaultctl remote 2>/dev/null")
        if key.code == 0 { tally.violation("\(what): the key in \(key.output)") }
    }

    /// The same command again, then everything is in order.
    private func checkNext(_ verb: Verb, _ what: String) async throws {
        let isThere = verb == .clone && (try? work.open("c")) != nil
        if !isThere {
            let again = try shell(command(verb))
            // The commit that was cut short may be made already.
            let isDone = again.code == 0 || (verb == .commit && again.output.hasPrefix("Nothing to commit"))
            if !isDone { return tally.violation("\(what): again: exit \(again.code): \(again.output)") }
        }
        let vault = try work.open(verb.clone)
        let report = try await vault.fsck()
        if !report.isClean { tally.violation("\(what): fsck: \(report.unrepaired)") }
        let status = try vault.status()
        if verb != .write, !status.isClean { tally.violation("\(what): status: \(status.changes)") }
        let committed = try work.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) }
        let expected = expected(verb)
        for (path, text) in expected where committed[path] != text {
            tally.violation("\(what): \(path) holds \(committed[path] ?? "nothing")")
        }
        if verb != .write, committed.count != expected.count {
            tally.violation("\(what): \(committed.keys.sorted())")
        }
        let tmp = try shell(
            "ls -d .c.clone-* */.sg_vault_new 2>/dev/null; ls \(verb.clone)/.sg_vault/local/vaultctl/tmp")
        if !tmp.output.isEmpty { tally.violation("\(what): left \(tmp.output)") }
        guard verb == .push else { return }
        try await work.clone("check")
        if try work.workingFiles("check").count != expected.count { tally.violation("\(what): a clone differs") }
    }

    private func expected(_ verb: Verb) -> [String: String] {
        let text = Self.canary
        var files = ["docs/1.txt": "\(text) file 1", "docs/2.txt": "\(text) file 2"]
        if verb == .write {
            files["docs/1.txt"] = "\(text) written"
            return files
        }
        files["docs/0.txt"] = "\(text) changed"
        files["more/new.txt"] = "\(text) new"
        if verb == .pullMerge { files["from-m.txt"] = "\(text) m" }
        if verb == .repair {
            files["docs/0.txt"] = "\(text) file 0"
            files["more/new.txt"] = nil
            files["going.txt"] = "\(text) going"
        }
        return files
    }
}
