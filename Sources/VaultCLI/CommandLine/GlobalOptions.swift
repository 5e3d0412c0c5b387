/// The options every verb takes (spec 10 B.2), as far as this build gives them a meaning.
enum GlobalOptions {
    static let directory = OptionSpec.value(
        "-C", argument: "DIR", help: "run as if started in DIR; may be repeated, each relative to the one before",
        repeatable: true, completion: .folder)
    static let vaultDirectory = OptionSpec.value(
        "--vault-dir", argument: "DIR", help: "the vault's root, exactly, instead of searching upwards",
        completion: .folder)
    static let json = OptionSpec.flag("--json", help: "print one JSON document on standard output")
    static let quiet = OptionSpec.flag(
        "-q", "--quiet", help: "no progress, notes or advice; errors, and warnings of false keys, remain")
    static let verbose = OptionSpec.flag("-v", "--verbose", help: "tell more; repeat for still more", repeatable: true)
    static let color = OptionSpec.value(
        "--color", argument: "WHEN", help: "colour: auto, always or never", completion: .choice(Tri.words))
    static let progress = OptionSpec.value(
        "--progress", argument: "WHEN", help: "progress on standard error: auto, always, never or json",
        completion: .choice(Tri.words + ["json"]))
    static let noPager = OptionSpec.flag("--no-pager", help: "never page")
    static let noInput = OptionSpec.flag("--no-input", help: "never ask; exit 14 instead")
    static let yes = OptionSpec.flag("-y", "--yes", help: "answer yes to the verb's one confirmation")
    static let offline = OptionSpec.flag("--offline", help: "fail with exit 7 rather than open a connection")
    static let server = OptionSpec.value(
        "--server", argument: "URL", help: "talk to this server or folder, for this run only", completion: .folder)
    static let remote = OptionSpec.value(
        "--remote", argument: "NAME", help: "talk to this saved remote, for this run only", completion: .remote)
    static let timeout = OptionSpec.value(
        "--timeout", argument: "S", help: "fail when no byte moves on the network for S seconds (60)")
    static let maxWait = OptionSpec.value(
        "--max-wait", argument: "S", help: "exit 15 when a server asks to wait longer than S seconds (30)")
    static let ignoreBackoff = OptionSpec.flag(
        "--ignore-backoff", help: "ask a server also before the time it named")
    static let insecureTLS = OptionSpec.flag(
        "--insecure-tls", help: "do not check who the server is, for this run only")
    static let tokenFile = OptionSpec.value(
        "--token-file", argument: "F", help: "read the server's access token from file F", secret: true,
        completion: .file)
    static let tokenDescriptor = OptionSpec.value(
        "--token-fd", argument: "N", help: "read the access token from file descriptor N", secret: true)
    static let save = OptionSpec.flag("--save", help: "keep the access token that was given, once it has worked")
    static let lockTimeout = OptionSpec.value(
        "--lock-timeout", argument: "S", help: "wait S seconds for the clone's lock (10); 0 fails at once")
    static let keyFile = OptionSpec.value(
        "--key-file", argument: "F",
        help: "read the vault or read key from file F; a clone with a key of its own refuses one of another vault",
        secret: true, completion: .file)
    static let keyDescriptor = OptionSpec.value(
        "--key-fd", argument: "N", help: "read the key from file descriptor N", secret: true)
    static let keyCommand = OptionSpec.value(
        "--key-command", argument: "CMD", help: "read the key from the output of a shell command", secret: true)
    static let passphraseFile = OptionSpec.value(
        "--passphrase-file", argument: "F", help: "read the passphrase of an identity from file F", secret: true,
        completion: .file)
    static let passphraseDescriptor = OptionSpec.value(
        "--passphrase-fd", argument: "N", help: "read the passphrase from file descriptor N", secret: true)
    static let passphraseCommand = OptionSpec.value(
        "--passphrase-command", argument: "CMD", help: "read the passphrase from the output of a shell command",
        secret: true)
    static let insecureArgv = OptionSpec.flag(
        "--insecure-argv", help: "accept a private key as an argument, where other users can see it")
    static let strictPermissions = OptionSpec.flag(
        "--strict-permissions", help: "refuse a key or passphrase file that others can read (exit 9)")
    static let help = OptionSpec.flag("-h", "--help", help: "show help and exit")
    static let version = OptionSpec.flag("--version", help: "show the version and exit")

    static let all: [OptionSpec] = [
        directory, vaultDirectory, json, quiet, verbose, color, progress, noPager, noInput, yes, offline, server,
        remote, timeout, maxWait, ignoreBackoff, insecureTLS, tokenFile, tokenDescriptor, save, lockTimeout, keyFile,
        keyDescriptor, keyCommand, passphraseFile, passphraseDescriptor, passphraseCommand, insecureArgv,
        strictPermissions, help, version,
    ]

    /// A choice that defaults to what the surroundings suggest.
    enum Tri: String, CaseIterable, Sendable {
        case auto, always, never

        static var words: [String] { allCases.map(\.rawValue) }
    }
}
