/// One option, described once: parsing, help, completion and manual all read this.
struct OptionSpec: Sendable {
    /// What follows the option's name.
    enum Argument: Sendable {
        case none
        /// `--opt VALUE` or `--opt=VALUE`.
        case required(String)
        /// `--opt` or `--opt=VALUE`.
        case optional(String)
    }

    /// Spellings, short before long: `["-q", "--quiet"]`.
    let flags: [String]
    let argument: Argument
    let help: String
    /// Every occurrence counts; of another option the last one does.
    let repeatable: Bool
    /// The value is, or leads to, a secret.
    let secret: Bool
    let completion: CompletionKind

    /// An option without a value.
    static func flag(_ flags: String..., help: String, repeatable: Bool = false) -> OptionSpec {
        OptionSpec(
            flags: flags, argument: .none, help: help, repeatable: repeatable, secret: false, completion: .nothing)
    }

    /// An option with a value.
    static func value(
        _ flags: String..., argument: String, help: String, repeatable: Bool = false, secret: Bool = false,
        completion: CompletionKind = .nothing
    ) -> OptionSpec {
        OptionSpec(
            flags: flags, argument: .required(argument), help: help, repeatable: repeatable, secret: secret,
            completion: completion)
    }

    /// An option whose value may be left out.
    static func optionalValue(
        _ flags: String..., argument: String, help: String, completion: CompletionKind = .nothing
    ) -> OptionSpec {
        OptionSpec(
            flags: flags, argument: .optional(argument), help: help, repeatable: false, secret: false,
            completion: completion)
    }

    /// The spelling it is stored under: the first long one, else the first.
    var name: String {
        flags.first { $0.hasPrefix("--") } ?? flags.first ?? ""
    }

    /// Whether a separate value follows.
    var takesValue: Bool {
        if case .required = argument { true } else { false }
    }

    /// The value's name in help, if it has a value.
    var argumentName: String? {
        switch argument {
        case .none: nil
        case .required(let name), .optional(let name): name
        }
    }

    /// As it stands in an option list: `-q, --quiet` or `--server URL`.
    var spelled: String {
        let names = flags.joined(separator: ", ")
        switch argument {
        case .none: return names
        case .required(let name): return "\(names) \(name)"
        case .optional(let name): return "\(names)[=\(name)]"
        }
    }
}

/// What a completion script offers for a value.
enum CompletionKind: Sendable, Equatable {
    case nothing, file, folder, vaultPath, revision, remote, setting, verb
    /// An own key pair, or with `--contact` a contact.
    case keyPair
    /// A contact or an own key pair.
    case knownKey
    case choice([String])

    /// The word that completion scripts pass to `__complete`.
    var word: String {
        switch self {
        case .nothing: "nothing"
        case .file: "file"
        case .folder: "folder"
        case .vaultPath: "path"
        case .revision: "revision"
        case .remote: "remote"
        case .setting: "setting"
        case .verb: "verb"
        case .keyPair: "key-pair"
        case .knownKey: "known-key"
        case .choice: "choice"
        }
    }
}

/// One positional argument of a verb.
struct Positional: Sendable {
    let name: String
    let help: String
    let required: Bool
    let repeatable: Bool
    /// Recognised only after `--`.
    let afterSeparator: Bool
    /// May hold a secret, so its value is never repeated in a message.
    let secret: Bool
    let completion: CompletionKind

    init(
        _ name: String, help: String, required: Bool = false, repeatable: Bool = false, afterSeparator: Bool = false,
        secret: Bool = false, completion: CompletionKind = .nothing
    ) {
        self.name = name
        self.help = help
        self.required = required
        self.repeatable = repeatable
        self.afterSeparator = afterSeparator
        self.secret = secret
        self.completion = completion
    }
}
