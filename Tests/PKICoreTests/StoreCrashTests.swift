import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

/// What a power cut or a failing call leaves of a key store and of the files that results are written to.
@Suite struct StoreCrashTests {
    private static let folder: FilePath = "/users/ann/.sg-send"
    private let identities: TestIdentities

    init() throws { identities = try TestIdentities() }

    private func store(_ fileSystem: any FileSystem) -> KeyStore {
        KeyStore(folder: Self.folder, fileSystem: fileSystem, clock: TestClock())
    }

    /// All that a store tells, as text.
    private func told(_ fileSystem: any FileSystem) throws -> [String] {
        let (own, contacts) = (try store(fileSystem).identities(), try store(fileSystem).contacts())
        return own.items.map { "own \($0.fingerprint) \($0.label)" }
            + contacts.items.map { "contact \($0.fingerprint) \($0.label)" }
            + (own.warnings + contacts.warnings).map(\.message)
    }

    private func bundle(_ name: String, label: String? = nil) throws -> PublicBundle {
        let read = try PublicBundle(parsing: Array(try identities[name].bundle.utf8)).identity
        return PublicBundle(
            PublicIdentity(label: label ?? read.label, encryption: read.encryption, signing: read.signing))
    }

    private typealias Operation = (name: String, body: (KeyStore) throws -> Void)

    /// Everything that changes a store.
    private func operations() throws -> [Operation] {
        let (alice, bob) = (try identities["alice"], try identities["bob"])
        let (own, other) = (try alice.known(.ownKey).identity.fingerprint, try bob.known(.contact).identity.fingerprint)
        let (pair, again) = (try identities["carol"].pair(), try bundle("bob", label: "Bert"))
        let new = try bundle("carol")
        return [
            ("add", { _ = try $0.add(pair, label: "Carol", passphrase: try Passphrase([1])) }),
            ("rename", { try $0.renameIdentity(own, to: "Ann") }), ("delete", { try $0.deleteIdentity(own) }),
            ("import", { _ = try $0.importContact(new) }), ("import again", { _ = try $0.importContact(again) }),
            ("rename contact", { try $0.renameContact(other, to: "B.") }),
            ("delete contact", { try $0.deleteContact(other) }),
        ]
    }

    /// A store with an own identity and a contact, all of it on the disk.
    private func prepared() throws -> InMemoryFileSystem {
        let memory = InMemoryFileSystem()
        let keep = store(memory)
        let alice = try identities["alice"]
        _ = try keep.add(try alice.pair(), label: "Alice", passphrase: try Passphrase([1]))
        _ = try keep.importContact(try bundle("bob"))
        return memory
    }

    /// Every state that an operation goes through, and what may have become of each in a power cut; how many there were.
    private func states(of operation: Operation, on start: InMemoryFileSystem) throws -> Int {
        let states = Locked<[CrashState]>([])
        let files = CrashFileSystem(start.afterKill()) { state in states.withLock { $0.append(state) } }
        let before = try told(start)
        try operation.body(store(files))
        let after = try told(files)
        #expect(before != after, "\(operation.name)")
        let random = SeededRandom.announced("StoreCrashTests \(operation.name)")
        for (step, state) in states.withLock({ $0 }).enumerated() {
            for choice in 0..<12 {
                let drawn = random.block(state.choices)
                let fates = zip(drawn, state.isWrite).map { byte, isWrite -> CrashState.Fate in
                    guard choice > 1 else { return choice == 0 ? .lost : .kept }
                    return CrashState.Fate(rawValue: byte % (isWrite ? 4 : 2)) ?? .lost
                }
                let found = try told(state.afterCrash(fates))
                #expect(found == before || found == after, "\(operation.name), step \(step), \(fates)")
            }
        }
        // What was reported as done is on the disk, whatever else is lost.
        #expect(try told(files.now.afterCrash([])) == after, "\(operation.name)")
        return states.withLock { $0.count }
    }

    @Test func `a power cut leaves a store as it was or as it will be`() throws {
        let start = try prepared()
        for operation in try operations() {
            // A change of a name at least, and its sync.
            #expect(try states(of: operation, on: start) >= 2, "\(operation.name)")
        }
    }

    @Test func `the first key and the first contact last, with every folder on the way to them`() throws {
        for operation in try operations() where ["add", "import"].contains(operation.name) {
            // The folders on the way, each with its sync.
            #expect(try states(of: operation, on: InMemoryFileSystem()) >= 4, "\(operation.name)")
        }
    }

    @Test func `whichever call fails, a store is as it was or as it will be, and nothing else stays`() throws {
        let start = try prepared()
        for operation in try operations() where operation.name != "add" {
            let before = try told(start)
            let changed = start.afterKill()
            try operation.body(store(changed))
            let after = try told(changed)
            var call = 0
            while true {
                call += 1
                let memory = start.afterKill()
                let files = FaultFileSystem(memory)
                files.set(FaultFileSystem.Fault(atCall: call, error: .noSpace, writesHalf: true))
                let code = failure { try operation.body(store(files)) }
                guard files.hasFired else { break }
                let found = try told(memory)
                #expect(found == before || found == after, "\(operation.name), call \(call)")
                if code == nil { #expect(found == after, "\(operation.name), call \(call)") }
                guard operation.name != "delete" else { continue }
                let names = memory.contents.keys.filter { $0.contains("tmp") }
                #expect(names.isEmpty, "\(operation.name), call \(call)")
            }
            #expect(call > 3)
        }
    }

    @Test func `whichever call fails, a result is the old file or the new one`() throws {
        let (old, new): ([UInt8], [UInt8]) = ([1], [2, 3])
        var call = 0
        while true {
            call += 1
            let memory = InMemoryFileSystem()
            try memory.createDirectory("/out", mode: 0o755)
            try ResultFile.write(old, to: "/out/file", replacing: false, access: .owner, fileSystem: memory)
            let files = FaultFileSystem(memory)
            files.set(FaultFileSystem.Fault(atCall: call, error: .noSpace, writesHalf: true))
            let code = failure {
                try ResultFile.write(new, to: "/out/file", replacing: true, access: .owner, fileSystem: files)
            }
            guard files.hasFired else { break }
            let content = memory.contents["/out/file"]
            #expect(content == old || content == new, "call \(call)")
            if code == nil { #expect(content == new, "call \(call)") }
            #expect(memory.contents.count == 1, "call \(call)")
        }
        #expect(call > 5)
    }
}
