package import VaultCore
package import VaultSystem

/// Everything around the tool, handed in so that tests can run whole commands in their own process.
package struct Surroundings: Sendable {
    /// Environment variables; values are bytes.
    package var environment: [String: [UInt8]]
    package var workingDirectory: FilePath
    package var standardInput: any InputSource
    package var standardOutput: any OutputSink
    package var standardError: any OutputSink
    package var terminal: any PromptTerminal
    package var processes: any ProcessRunner
    /// Asked between steps whether a signal wants the run to stop.
    package var cancellation: any Cancellation
    /// The machine's configuration file.
    package var systemConfiguration: FilePath
    package var vault: VaultEnvironment

    package init(
        environment: [String: [UInt8]], workingDirectory: FilePath, standardInput: any InputSource,
        standardOutput: any OutputSink, standardError: any OutputSink, terminal: any PromptTerminal,
        processes: any ProcessRunner, cancellation: any Cancellation, systemConfiguration: FilePath,
        vault: VaultEnvironment
    ) {
        self.environment = environment
        self.workingDirectory = workingDirectory
        self.standardInput = standardInput
        self.standardOutput = standardOutput
        self.standardError = standardError
        self.terminal = terminal
        self.processes = processes
        self.cancellation = cancellation
        self.systemConfiguration = systemConfiguration
        self.vault = vault
    }

    /// A variable as text; nil when it is not set.
    func text(_ name: String) -> String? {
        environment[name].map { String(decoding: $0, as: UTF8.self) }
    }

    /// A variable as text; nil when it is not set or empty.
    func filled(_ name: String) -> String? {
        text(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Variables that other programs never see (spec 10 B.5).
    package static let secretVariables: Set<String> = [
        "VAULTCTL_KEY", "VAULTCTL_TOKEN", "VAULTCTL_PASSPHRASE", "SG_SEND_PASSPHRASE",
    ]
}

/// Standard input and other inherited descriptors.
package protocol InputSource: Sendable {
    /// Reads a descriptor (0 for standard input) to its end; `Errno.fileTooLarge` beyond `limit` bytes.
    func read(descriptor: Int32, limit: Int) throws(Errno) -> [UInt8]
    /// Standard input's descriptor for functions that stream from it; nil when only `read` gives its bytes.
    var streamDescriptor: Int32? { get }
    /// A person would have to type it.
    var isTerminal: Bool { get }
}

/// The terminal that secrets are asked on and shown on, apart from the standard streams (spec 10 B.5).
package protocol PromptTerminal: Sendable {
    var isAvailable: Bool { get }
    /// Shows text.
    func show(_ text: String) throws(Errno)
    /// Shows a question and reads a line, without echo when it is a secret.
    func ask(_ question: String, hidden: Bool) throws(Errno) -> [UInt8]
}

/// Runs other programs: key commands, the pager, the editor.
package protocol ProcessRunner: Sendable {
    /// Runs a shell command without input and gives what it printed and its exit code; `Errno.fileTooLarge` when it
    /// prints more than `limit` bytes.
    func capture(_ command: String, in directory: FilePath, limit: Int) throws(Errno) -> (output: [UInt8], exit: Int32)
    /// Runs a shell command on the terminal and gives its exit code.
    func interact(_ command: String, in directory: FilePath) throws(Errno) -> Int32
    /// Starts a shell command that shows on the terminal what it is fed.
    func startPager(_ command: String) throws(Errno) -> any Pager
}

/// A running pager.
package protocol Pager: OutputSink {
    /// Ends its input and waits until the person has read enough.
    func finish()
}
