/// What a command line said, before anything is made of it.
struct ParsedArguments: Sendable {
    /// Nil when the line asks for something about a group (`remote --help`) or about no verb.
    var verb: Verb?
    /// The first word when it names a group whose action was not given.
    var groupWord: String?
    /// Option name to its values in order; an option without a value is held with an empty one per occurrence.
    var values: [String: [[UInt8]]] = [:]
    /// Positionals before `--`.
    var positionals: [[UInt8]] = []
    /// Positionals after `--`.
    var separated: [[UInt8]] = []

    /// All positionals in their order.
    var allPositionals: [[UInt8]] { positionals + separated }

    /// Whether an option was given.
    func has(_ option: OptionSpec) -> Bool {
        values[option.name] != nil
    }

    /// How often an option was given.
    func count(_ option: OptionSpec) -> Int {
        values[option.name]?.count ?? 0
    }

    /// The last value of an option.
    func last(_ option: OptionSpec) -> [UInt8]? {
        values[option.name]?.last
    }

    /// Every value of a repeatable option.
    func all(_ option: OptionSpec) -> [[UInt8]] {
        values[option.name] ?? []
    }
}
