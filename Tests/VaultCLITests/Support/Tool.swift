internal import VaultCLI
internal import VaultCore
internal import VaultSystem
internal import VaultTestSupport

/// Runs command lines in this process, in a folder of their own.
final class Tool {
    let folder: TemporaryFolder
    var environment: [String: [UInt8]] = [:]
    var directory: FilePath
    var input = FixedInput()
    var terminal = FakeTerminal()
    var processes = FakeProcesses()
    var cancellation: any Cancellation = NoCancellation()
    var outputIsTerminal = false
    var outputIsExposed = false
    var errorIsTerminal = false
    var outputFailure: Errno?
    var fileSystem: any FileSystem = LinuxFileSystem()
    let clock = TestClock()
    private let random: SeededRandom

    init(seed: UInt64 = 1) throws {
        folder = try TemporaryFolder("cli")
        directory = try LinuxFileSystem().canonicalPath(folder.path)
        random = SeededRandom(seed: seed)
        environment["HOME"] = directory.appending(component: "home").bytes
    }

    /// What a run left behind.
    struct Outcome {
        let code: Int32
        let output: [UInt8]
        let text: String
        let error: String
    }

    /// Runs a line given as words.
    func run(_ words: String...) async -> Outcome {
        await run(words.map { Array($0.utf8) })
    }

    /// Runs a line given as bytes.
    func run(_ words: [[UInt8]]) async -> Outcome {
        let output = Captured(
            isTerminal: outputIsTerminal, isExposedFile: outputIsExposed, failure: outputFailure)
        let error = Captured(isTerminal: errorIsTerminal)
        let code = await CommandLineTool(surroundings: surroundings(output, error)).run(words)
        return Outcome(code: code, output: output.all, text: output.text, error: error.text)
    }

    private func surroundings(_ output: Captured, _ error: Captured) -> Surroundings {
        Surroundings(
            environment: environment, workingDirectory: directory, standardInput: input, standardOutput: output,
            standardError: error, terminal: terminal, processes: processes, cancellation: cancellation,
            systemConfiguration: folder.appending("system.json"),
            vault: VaultEnvironment(
                fileSystem: fileSystem, clock: clock, random: random, failPoints: .none))
    }

    /// Writes a file below the folder, with its parents.
    func write(_ bytes: [UInt8], to name: String, mode: UInt32 = 0o644) throws {
        try write(bytes, to: Array(name.utf8), mode: mode)
    }

    /// Writes a file below the folder, with its parents.
    func write(_ bytes: [UInt8], to name: [UInt8], mode: UInt32 = 0o644) throws {
        let path = FilePath(bytes: name)
        var folder = try self.folder.open()
        for component in path.components.dropLast() {
            if (try? folder.status(of: component)) == nil { try folder.createDirectory(component, mode: 0o755) }
            folder = try folder.openDirectory(component)
        }
        let last = path.lastComponent ?? []
        if (try? folder.status(of: last)) != nil { try folder.removeFile(last) }
        let file = try folder.createFile(last, mode: mode)
        try file.setMode(mode)
        try file.write(bytes.span)
    }

    /// The bytes of a file below the folder.
    func read(_ name: String) throws -> [UInt8] {
        try LinuxFileSystem().readFile(folder.path.appending(relative: Array(name.utf8)), limit: 1 << 24)
    }

    /// The permission bits of a file below the folder.
    func mode(_ name: String) throws -> UInt32 {
        try LinuxFileSystem().status(of: folder.path.appending(relative: Array(name.utf8)), followLinks: false).mode
    }
}
