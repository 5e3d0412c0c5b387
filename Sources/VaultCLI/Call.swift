internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// One run of a verb: what was asked, and the streams to answer on.
final class Call: Sendable {
    let verb: Verb
    let arguments: ParsedArguments
    let surroundings: Surroundings
    /// Where the run takes place, after every `-C`.
    let workingDirectory: FilePath
    let output: Output
    let messages: Messages
    let isJSON: Bool
    /// The key that the options or the environment gave.
    let givenKey = GivenText()
    private let openTrace = Locked<TraceLog?>(nil)
    private let loadedSettings = Locked<Settings?>(nil)
    private let chosenColour = Locked<Colour?>(nil)
    private let answered = Locked(false)
    private let afterwards = Locked<[@Sendable () throws -> Void]>([])

    init(
        verb: Verb, arguments: ParsedArguments, surroundings: Surroundings, output: Output, messages: Messages
    ) {
        self.verb = verb
        self.arguments = arguments
        self.surroundings = surroundings
        self.output = output
        self.messages = messages
        isJSON = arguments.has(GlobalOptions.json)
        let moves = arguments.all(GlobalOptions.directory)
        let place = moves.reduce(surroundings.workingDirectory) { $0.appending(relative: $1) }
        // Without `..` in it, so that messages name the place plainly; one that is missing is refused by `checkOptions`.
        workingDirectory = moves.isEmpty ? place : (try? surroundings.vault.fileSystem.canonicalPath(place)) ?? place
    }

    /// The same call with its results going elsewhere.
    func with(output: Output) -> Call {
        let call = Call(
            verb: verb, arguments: arguments, surroundings: surroundings, output: output, messages: messages)
        call.trace = trace
        return call
    }

    /// Where the steps of the run are written to, if anywhere.
    var trace: TraceLog? {
        get { openTrace.withLock { $0 } }
        set { openTrace.withLock { $0 = newValue } }
    }

    // MARK: options

    /// Whether an option was given.
    func has(_ option: OptionSpec) -> Bool { arguments.has(option) }

    /// The last value of an option as text.
    /// - Throws: `usage` when it is not UTF-8.
    func text(_ option: OptionSpec) throws -> String? {
        try arguments.last(option).map { try text($0, of: "option '\(option.name)'") }
    }

    /// Bytes of the command line as text.
    func text(_ bytes: [UInt8], of what: String) throws -> String {
        guard let text = UTF8Text.validated(bytes.span) else { throw Usage.error("\(what) is not UTF-8") }
        return text
    }

    /// A positional as text.
    func textPositional(_ index: Int) throws -> String? {
        guard arguments.allPositionals.count > index else { return nil }
        return try text(arguments.allPositionals[index], of: "argument \(index + 1)")
    }

    /// An option with a whole number that is at least `least`.
    func number(_ option: OptionSpec, least: Int) throws -> Int? {
        guard let text = try text(option) else { return nil }
        guard let number = Int(text), number >= least else {
            throw Usage.error("option '\(option.name)' takes a whole number of at least \(least)", about: [verb])
        }
        return number
    }

    /// An option with one of a few words.
    func choice(_ option: OptionSpec) throws -> String? {
        guard let text = try text(option), case .choice(let words) = option.completion else { return nil }
        guard words.contains(text) else {
            throw Usage.error(
                "option '\(option.name)' takes \(Usage.list(words))",
                suggestion: Spelling.nearest(to: text, among: words))
        }
        return text
    }

    /// Refuses values of global options that mean nothing, also where the verb does not look at them.
    func checkOptions() throws {
        if has(GlobalOptions.directory) { try checkWorkingDirectory() }
        _ = try choice(GlobalOptions.color)
        _ = try choice(GlobalOptions.progress)
        _ = try number(GlobalOptions.keyDescriptor, least: 0)
        _ = try number(GlobalOptions.tokenDescriptor, least: 0)
        _ = try number(GlobalOptions.passphraseDescriptor, least: 0)
        for option in [GlobalOptions.timeout, GlobalOptions.maxWait] { _ = try RemoteOpener.seconds(option, self) }
        _ = try VaultPlace.lockTimeout(self)
        try SecretInput(call: self).checkDeclaredKeys()
        if verb.changes { try checkFixedTime() }
    }

    /// Refuses a fixed time that can not be kept: commits with the time of the day would be taken for reproducible.
    private func checkFixedTime() throws {
        guard let text = surroundings.filled(FixedClock.variable), FixedClock.milliseconds(text) == nil else { return }
        throw Usage.error(
            "\(FixedClock.variable) is no number of seconds since 1970: \(TextSafety.quoted(Array(text.utf8)))")
    }

    /// Refuses a `-C` that leads to no folder.
    private func checkWorkingDirectory() throws {
        let typed = TextSafety.quoted(arguments.last(GlobalOptions.directory) ?? [])
        let status: FileStatus
        do throws(Errno) {
            status = try surroundings.vault.fileSystem.status(of: workingDirectory, followLinks: true)
        } catch .noSuchFile, .notADirectory {
            throw VaultError(.pathNotFound, "there is no folder \(typed)", path: workingDirectory.text)
        } catch {
            throw VaultError.io(error, "cannot open \(typed)", path: workingDirectory.text)
        }
        guard status.kind == .directory else {
            throw VaultError(.pathNotFound, "\(typed) is no folder", path: workingDirectory.text)
        }
    }

    /// A revision as typed.
    /// - Throws: `usage` for an empty one, which an unset variable of a script leaves, and for one that is not UTF-8.
    func revision(_ bytes: [UInt8]) throws -> String {
        guard !bytes.isEmpty else { throw Usage.error("the revision is empty", about: [verb]) }
        return try text(bytes, of: "the revision")
    }

    /// How many times `-v` was given.
    var verbosity: Int { arguments.count(GlobalOptions.verbose) }

    /// Whether anything may be asked on the terminal.
    var mayAsk: Bool {
        !has(GlobalOptions.noInput) && !isJSON && surroundings.filled("CI") == nil
    }

    /// Throws when a signal wants the run to stop here.
    func checkStop() throws {
        try surroundings.cancellation.check()
    }

    /// Runs work that notices a signal and ends; the signal, not the work's error, is then what the run ends with.
    func stoppable<Result>(_ work: () throws -> Result) throws -> Result {
        do {
            return try work()
        } catch {
            // It says more than that the work was stopped.
            try checkStop()
            throw error
        }
    }

    // MARK: settings

    /// The settings that apply here.
    func settings() throws -> Settings {
        if let loaded = loadedSettings.withLock({ $0 }) { return loaded }
        let settings = try Settings.load(for: self)
        loadedSettings.withLock { $0 = settings }
        return settings
    }

    /// Whether text is coloured.
    func colour() throws -> Colour {
        if let chosen = chosenColour.withLock({ $0 }) { return chosen }
        let colour = try Colour(call: self)
        chosenColour.withLock { $0 = colour }
        return colour
    }

    // MARK: paths

    /// A place of the local file system that was named on the command line.
    /// - Throws: `usage` for a name that no file system takes.
    func place(_ typed: [UInt8]) throws -> FilePath {
        guard !typed.isEmpty else { throw Usage.error("a path is empty", about: [verb]) }
        let path = workingDirectory.appending(relative: typed)
        guard path.bytes.count < 4096, path.components.allSatisfy({ $0.count <= 255 }) else {
            throw Usage.error("a path is too long: a name has at most 255 bytes, a path 4095", about: [verb])
        }
        return path
    }

    /// A place where a result may be written.
    /// - Throws: `refused` for one in the store of a vault, whose files (the key among them) it would replace.
    func outputPlace(_ typed: [UInt8]) throws -> FilePath {
        let path = try place(typed)
        try refuseStore(path, typed: path)
        return path
    }

    /// A place where a result may be written, also through a link that stands there.
    /// - Throws: as `outputPlace`.
    func outputFile(_ typed: [UInt8]) throws -> FilePath {
        let path = try outputPlace(typed)
        let real: FilePath
        do throws(Errno) {
            real = try surroundings.vault.fileSystem.outputPlace(path).path
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
        try refuseStore(real, typed: path)
        return real
    }

    private func refuseStore(_ path: FilePath, typed: FilePath) throws {
        let folder = (try? surroundings.vault.fileSystem.canonicalPath(path.parent)) ?? path.parent
        guard !folder.components.contains(NewVaultPlace.store), path.lastComponent != NewVaultPlace.store else {
            throw VaultError(
                .refused, "\(typed.text) lies in .sg_vault, which belongs to a vault alone", path: typed.text)
        }
    }

    /// A path as a message shows it: relative to where the user stands when it lies at or below that.
    func shown(_ path: FilePath) -> String {
        let here = surroundings.workingDirectory.components
        let all = path.components
        guard !here.isEmpty, all.starts(with: here) else { return path.text }
        let rest = all.dropFirst(here.count)
        return rest.isEmpty ? "." : FilePath(bytes: Array(rest.joined(separator: [UInt8(ascii: "/")]))).text
    }

    // MARK: results

    /// Whether the verb has done its work and only its report is left.
    var isAnswered: Bool { answered.withLock { $0 } }

    /// Has something done once the verb has done its work, before it answers.
    func afterWork(_ body: @escaping @Sendable () throws -> Void) {
        afterwards.withLock { $0.append(body) }
    }

    /// Gives a result to whoever asked for it, as text or as JSON.
    func answer(_ result: some Rendered, exit: ExitCode = .ok) throws -> ExitCode {
        answered.withLock { $0 = true }
        let bodies = afterwards.withLock { held in
            defer { held = [] }
            return held
        }
        for body in bodies { try body() }
        if isJSON {
            try output.write(
                JSONDocument.result(schema: verb.document.schema, exit: exit, members: result.jsonMembers()))
        } else {
            try result.writeText(to: TextRenderer(call: self))
        }
        // What follows on standard error has to come after it.
        if output.isTerminal { try output.flush() }
        return exit
    }
}

/// A result that both renderers can tell.
protocol Rendered {
    /// For people.
    func writeText(to text: TextRenderer) throws
    /// For programs: the members after `schema` and `ok`.
    func jsonMembers() -> [JSONMember]
}
