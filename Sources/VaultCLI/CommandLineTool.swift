internal import VaultCore
internal import VaultSystem

/// The whole command line as a library function: words in, streams and an exit code out.
package struct CommandLineTool: Sendable {
    private let surroundings: Surroundings

    package init(surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    /// How a run goes on after its words have been read.
    package enum Run: Sendable {
        /// It is over, with this exit code. Verbs without the network end here.
        case finished(Int32)
        /// It talks to a remote; the closure gives the exit code.
        case pending(@Sendable () async -> Int32)
    }

    /// Runs a command line (without the program's name) to its end and gives the exit code.
    package func run(_ arguments: [[UInt8]]) async -> Int32 {
        switch start(arguments) {
        case .finished(let code): code
        case .pending(let rest): await rest()
        }
    }

    /// Runs a command line as far as it goes without waiting for a remote.
    package func start(_ arguments: [[UInt8]]) -> Run {
        let table = VerbTable.standard
        if arguments.first == CompletionLookup.word {
            return .finished(
                CompletionLookup(surroundings: surroundings, table: table).run(Array(arguments.dropFirst())))
        }
        let parsed: ParsedArguments
        var parser = ArgumentParser(table: table)
        do {
            parsed = try parser.run(arguments)
        } catch {
            let isJSON = ArgumentParser.asksForJSON(arguments)
            return .finished(complain(error, verb: parser.verbSoFar, isJSON: isJSON))
        }
        guard let call = Self.request(parsed, table: table) else {
            return .finished(withoutVerb(parsed, table: table))
        }
        return perform(call)
    }

    /// What is to be run: the verb, or help or version in its place.
    private static func request(_ parsed: ParsedArguments, table: VerbTable) -> ParsedArguments? {
        var request = parsed
        if parsed.has(GlobalOptions.help) {
            request.positionals = (parsed.verb?.words ?? parsed.groupWord.map { [$0] } ?? []).map { Array($0.utf8) }
            request.separated = []
            request.verb = HelpCommand.verb
        } else if parsed.has(GlobalOptions.version) {
            request.verb = VersionCommand.verb
        }
        return request.verb == nil ? nil : request
    }

    private func perform(_ arguments: ParsedArguments) -> Run {
        guard let verb = arguments.verb else { return .finished(ExitCode.internalError.rawValue) }
        let messages = messages(for: arguments)
        var surroundings = surroundings
        surroundings.vault = surroundings.vault.telling { messages.note($0) }
        let direct = Call(
            verb: verb, arguments: arguments, surroundings: surroundings,
            output: Output(sink: surroundings.standardOutput), messages: messages)
        do {
            try direct.checkOptions()
            direct.trace = TraceLog.opened(for: direct)
            direct.trace?.began(verb.name)
            let pager =
                verb.pages
                ? try PagedOutput.make(for: arguments, surroundings: surroundings, settings: direct.settings) : nil
            let call = pager.map { direct.with(output: Output(sink: $0)) } ?? direct
            return carryOut(verb.action, call, pager)
        } catch {
            return .finished(conclude(direct, nil, .failure(error)))
        }
    }

    private func carryOut(_ action: Verb.Action, _ call: Call, _ pager: PagedOutput?) -> Run {
        switch action {
        case .local(let action):
            return .finished(conclude(call, pager, Result { try action(call) }))
        case .network(let action):
            return .pending {
                let outcome: Result<ExitCode, any Error>
                do { outcome = .success(try await action(call)) } catch { outcome = .failure(error) }
                return conclude(call, pager, outcome)
            }
        case .choose(let choice):
            return carryOut(choice(call), call, pager)
        }
    }

    /// Flushes, tells what went wrong, and gives the exit code.
    private func conclude(_ call: Call, _ pager: PagedOutput?, _ outcome: Result<ExitCode, any Error>) -> Int32 {
        let code = told(call, pager, outcome)
        call.trace?.ended(exit: code)
        return code
    }

    private func told(_ call: Call, _ pager: PagedOutput?, _ outcome: Result<ExitCode, any Error>) -> Int32 {
        call.messages.eraseProgress()
        defer { pager?.finish() }
        do {
            let exit = try outcome.get()
            try call.output.flush()
            return exit.rawValue
        } catch let error as OutputFailure where error.errno == .brokenPipe {
            // Who pages has seen enough; who reads a pipe is told by the code.
            return pager == nil ? ExitCode.brokenPipe.rawValue : ExitCode.ok.rawValue
        } catch let error as OutputFailure {
            pager?.finish()
            return tellOnStandardError(error.failure(workIsDone: call.verb.changes && call.isAnswered), call)
        } catch {
            if !call.isJSON { try? call.output.flush() }
            pager?.finish()
            let here = call.surroundings.workingDirectory
            return tell(
                Failure(stopped(error) ?? error, secrets: call.messages.secrets, here: here),
                verb: call.verb.name,
                isJSON: call.isJSON,
                output: call.output,
                messages: call.messages, verbosity: call.verbosity)
        }
    }

    /// The signal that ended a wait, which is told in place of the system call that it ended.
    private func stopped(_ error: any Error) -> (any Error)? {
        let interrupted = "\(Errno.interrupted)"
        guard error as? Errno == .interrupted || (error as? VaultError)?.cause == interrupted else { return nil }
        do throws(Interruption) {
            try surroundings.cancellation.check()
            return nil
        } catch {
            return error
        }
    }

    /// Standard output can not be used, so that also with `--json` the message is text.
    private func tellOnStandardError(_ error: VaultError, _ call: Call) -> Int32 {
        let failure = Failure(error, secrets: call.messages.secrets)
        call.messages.error(failure, verbosity: call.verbosity)
        return failure.exit.rawValue
    }

    private func complain(_ error: any Error, verb: String?, isJSON: Bool) -> Int32 {
        let messages = Messages(sink: surroundings.standardError, isQuiet: false, givesAdvice: false)
        return tell(
            Failure(error, secrets: messages.secrets), verb: verb, isJSON: isJSON,
            output: Output(sink: surroundings.standardOutput), messages: messages, verbosity: 0)
    }

    private func tell(
        _ failure: Failure, verb: String?, isJSON: Bool, output: Output, messages: Messages, verbosity: Int
    ) -> Int32 {
        guard isJSON else {
            messages.error(failure, verbosity: verbosity)
            return failure.exit.rawValue
        }
        do {
            output.discard()
            try output.write(JSONDocument.failure(failure, verb: verb))
            try output.flush()
            return failure.exit.rawValue
        } catch {
            if (error as? OutputFailure)?.errno == .brokenPipe { return ExitCode.brokenPipe.rawValue }
            messages.error(failure, verbosity: verbosity)
            return failure.exit.rawValue
        }
    }

    /// `vaultctl` alone.
    private func withoutVerb(_ parsed: ParsedArguments, table: VerbTable) -> Int32 {
        guard !parsed.has(GlobalOptions.json) else {
            return complain(Usage.error("no verb was given", hint: "vaultctl help"), verb: nil, isJSON: true)
        }
        Messages(sink: surroundings.standardError, isQuiet: false, givesAdvice: false)
            .plain(HelpText(table: table).short())
        return ExitCode.usage.rawValue
    }

    private func messages(for arguments: ParsedArguments) -> Messages {
        Messages(
            sink: surroundings.standardError, isQuiet: arguments.has(GlobalOptions.quiet),
            givesAdvice: surroundings.filled("CI") == nil)
    }
}
