internal import VaultCore
internal import VaultSystem

/// The program around `CommandLineTool`.
package enum Program {
    /// Runs this process's command line and ends the process.
    package static func main() -> Never {
        ProcessContext.disableCoreDumps()
        let code: Int32
        do throws(Errno) {
            try StandardStreams.reserve()
            code = run(Surroundings.process())
        } catch {
            try? StandardStreams.write(
                "vaultctl: cannot start, because the standard streams can not be opened: \(error)\n",
                to: .error)
            code = ExitCode.io.rawValue
        }
        ProcessContext.exit(code)
    }

    /// What waits for several things at once takes for itself.
    private static let runtimeDescriptors = 3
    private static let runtimeThreads = 3

    private static func run(_ surroundings: Surroundings) -> Int32 {
        let tool = CommandLineTool(surroundings: surroundings)
        switch tool.start(Array(ProcessContext.arguments.dropFirst())) {
        case .finished(let code): return code
        case .pending(let rest):
            do throws(Errno) {
                try StandardStreams.requireDescriptors(runtimeDescriptors)
                try BackgroundThread.require(runtimeThreads)
            } catch {
                try? StandardStreams.write("vaultctl: cannot start: \(error)\n", to: .error)
                return ExitCode.io.rawValue
            }
            // The main thread waits: nothing here needs a run loop.
            let outcome = Channel<Int32>(capacity: 1)
            Task.detached { _ = outcome.send(await rest()) }
            return outcome.receive() ?? ExitCode.internalError.rawValue
        }
    }
}
