import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Every bit flipped, every length cut, and random bytes, in every small file of a clone.
@Suite("Damage")
struct DamageTests {
    @Test("a damaged file is refused by name, rebuilt, or does no harm", .timeLimit(.minutes(120)))
    func everyBit() async throws {
        let random = SeededRandom.announced("damage")
        let total = Tally("damage", seed: random.seed)
        let damage = try await Damage(SceneKeys.shared(), random)
        for target in try damage.targets() {
            let tally = Tally("damage: \(target.kind.rawValue)", seed: random.seed)
            for bytes in damage.variants(of: target) { await damage.check(target, bytes, tally) }
            print(tally, target.path)
            total.count("inputs", tally.value("inputs"))
            total.count("refused", tally.value("refused"))
            total.count("harmless", tally.value("harmless"))
            total.count("violations", tally.violations.count)
        }
        print(total)
        #expect(total.value("violations") == 0)
        #expect(total.value("inputs") >= Campaign.scaled(short: 1_000, full: 100_000))
    }
}

/// A clone, its files, and what is expected of each kind when it is damaged.
struct Damage: Sendable {
    enum Kind: String, Sendable {
        case object, ref, index, publicKey = "public key", privateKey = "private key", vaultKey = "vault key"
        case config, baseline, remotes, cache, other
    }

    struct Target: Sendable {
        var path: String
        var kind: Kind
        var bytes: [UInt8]
    }

    private let keys: SceneKeys
    private let random: SeededRandom
    private let memory: InMemoryFileSystem
    private let committed: [String: [UInt8]]

    init(_ keys: SceneKeys, _ random: SeededRandom) async throws {
        self.keys = keys
        self.random = random
        memory = InMemoryFileSystem(clock: VaultScene.clock)
        let scene = VaultScene(keys: keys, on: memory, seed: 1)
        let vault = try scene.create("a")
        try scene.put("one", at: "one.txt", in: "a")
        try scene.put("two", at: "d/two.txt", in: "a")
        _ = try vault.commit(CommitOptions(message: "first"))
        _ = try await vault.push(to: scene.remote())
        try vault.addRemote(name: "other", url: scene.remotePath.text, isDefault: true)
        _ = try vault.status()
        committed = try scene.committedFiles(vault)
    }

    private func scene(_ memory: InMemoryFileSystem) -> VaultScene { VaultScene(keys: keys, on: memory, seed: 2) }

    /// The files of the clone, by what they are.
    func targets() throws -> [Target] {
        var files: [String: [UInt8]] = [:]
        let vault = try memory.openDirectory("/a/.sg_vault")
        try VaultScene.collect(vault, behind: ".sg_vault/", into: &files)
        let own = try scene(memory).open("a").loadState()
        return files.sorted { $0.key < $1.key }.compactMap { path, bytes in
            guard let kind = kind(path, own) else { return nil }
            return Target(path: path, kind: kind, bytes: bytes)
        }
    }

    private func kind(_ path: String, _ state: CloneState) -> Kind? {
        let parts = path.split(separator: "/").map(String.init)
        guard let name = parts.last, parts.count >= 3 else { return nil }
        switch parts[2] {
        case "data": return .object
        case "refs": return name == state.headRef.text ? .ref : .other
        case "indexes": return .index
        case "keys": return .publicKey
        default: break
        }
        if parts[2] == "vaultctl" { return name == "lock" ? nil : .cache }
        switch name {
        case "config.json": return .config
        case "vault_key": return .vaultKey
        case "remote_heads.json": return .baseline
        case "remotes.json": return .remotes
        default: return name.hasSuffix(".pem") ? .privateKey : .other
        }
    }

    /// Every bit flipped, every length, random bytes; of all these a sample in the short form.
    func variants(of target: Target) -> [[UInt8]] {
        var found: [[UInt8]] = []
        // Every variant of the vault key, or of the keys derived from it, costs two key derivations.
        let isDear = target.kind == .vaultKey || target.path.hasSuffix("/derived-keys")
        let step = Campaign.number("VAULT_DAMAGE_STEP", short: isDear ? 200 : 53, full: isDear ? 5 : 1)
        var bit = random.below(step)
        while bit < target.bytes.count * 8 {
            var bytes = target.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            found.append(bytes)
            bit += step
        }
        var length = random.below(step)
        while length < target.bytes.count {
            found.append(Array(target.bytes[..<length]))
            length += step
        }
        for _ in 0..<(isDear ? 2 : Campaign.number("VAULT_DAMAGE_RANDOM", short: 10, full: 2_500)) {
            var bytes = target.bytes
            switch random.below(3) {
            case 0: bytes = random.block(random.below(2 * bytes.count + 2))
            case 1: bytes += random.block(1 + random.below(20))
            default:
                for _ in 0...random.below(4) where !bytes.isEmpty {
                    bytes[random.below(bytes.count)] = UInt8(random.below(256))
                }
            }
            if bytes != target.bytes { found.append(bytes) }
        }
        return found
    }

    // MARK: One input

    private enum Answer {
        case good
        case refused(VaultError)
        case wrong(String)
    }

    func check(_ target: Target, _ bytes: [UInt8], _ tally: Tally) async {
        let damaged = memory.afterKill()
        let scene = scene(damaged)
        do throws(Errno) {
            try damaged.writeFile(FilePath("/a/" + target.path), bytes)
        } catch {
            return tally.violation("\(target.path): \(error)")
        }
        tally.count("inputs")
        let answer = await ask(target, scene)
        switch answer {
        case .good:
            tally.count("harmless")
            if Self.mustRefuse.contains(target.kind) {
                tally.violation("\(target.path) of \(bytes.count) bytes was not found damaged: \(bytes)")
            }
        case .refused(let error):
            tally.count("refused")
            if !Self.codes(target.kind).contains(error.code) {
                tally.violation("\(target.path) of \(bytes.count) bytes gave \(error)")
            }
        case .wrong(let text): tally.violation("\(target.path) of \(bytes.count) bytes: \(text)")
        }
    }

    private static let mustRefuse: Set<Kind> = [.object, .ref, .index]

    /// The codes that damage of each kind may be told as.
    private static func codes(_ kind: Kind) -> Set<VaultError.Code> {
        switch kind {
        case .object: [.objectCorrupt]
        case .ref, .index: [.refUnreadable]
        case .publicKey: []
        case .privateKey: [.objectCorrupt]
        case .vaultKey: [.keyWrong, .refUnreadable, .decryptFailed, .branchNotFound]
        case .config: [.objectCorrupt, .branchNotFound, .refRewound, .partialClone, .formatUnsupported]
        case .baseline: [.refRewound, .objectMissing]
        case .remotes: [.objectCorrupt]
        // A file of a newer version is refused by name; what merely does not read is made anew.
        case .cache: [.formatUnsupported]
        case .other: []
        }
    }

    private func ask(_ target: Target, _ scene: VaultScene) async -> Answer {
        do {
            let vault = try scene.open("a")
            let status = try vault.status()
            if !status.isClean { return .wrong("status: \(status.changes)") }
            if try scene.committedFiles(vault) != committed { return .wrong("other files") }
            if try scene.history(vault).count != 2 { return .wrong("another history") }
            switch target.kind {
            case .object, .publicKey:
                // Not every object is read above, and no key.
                let report = try await vault.fsck()
                if report.isClean { return .good }
                guard target.kind == .publicKey else { throw VaultError(.objectCorrupt, "\(report.unrepaired)") }
                return report.broken.contains { target.path.hasSuffix($0.id) } || !report.signatures.bad.isEmpty
                    ? .good : .wrong("fsck: \(report.unrepaired)")
            case .privateKey: return try await commit(scene, vault)
            case .baseline, .config:
                _ = try await vault.push(to: scene.remote())
                return .good
            default: return .good
            }
        } catch let error as VaultError {
            return .refused(error)
        } catch {
            return .wrong("\(error)")
        }
    }

    /// Whoever signs with a damaged key would publish a commit that nobody accepts.
    private func commit(_ scene: VaultScene, _ vault: Vault) async throws -> Answer {
        try scene.put("signed", at: "signed.txt", in: "a")
        _ = try vault.commit(CommitOptions(message: "signed"))
        let report = try await vault.fsck()
        if !report.signatures.bad.isEmpty { return .wrong("a commit was signed with the damaged key") }
        return report.isClean ? .good : .wrong("fsck: \(report.unrepaired)")
    }
}
