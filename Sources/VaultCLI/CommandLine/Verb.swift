/// A verb, described once.
///
/// Parsing, help text, `help --json`, completions, manual pages and `docs/commands.md` are all made from it.
struct Verb: Sendable {
    /// Where a verb stands in the overview.
    enum Group: String, Sendable, CaseIterable {
        case start, work, undo, branches, share, maintain, keys, identities, tool

        var title: String {
            switch self {
            case .start: "Start a vault"
            case .work: "Work in it"
            case .undo: "Undo"
            case .branches: "Branches and merges"
            case .share: "Share it"
            case .maintain: "Look after it"
            case .keys: "Keys"
            case .identities: "Identities, signatures and sealed files"
            case .tool: "vaultctl itself"
            }
        }
    }

    /// Whether a verb may talk to a remote.
    enum Network: String, Sendable {
        case never, always
        /// Only with an option that its help names.
        case onRequest = "on_request"
        /// Only in a clone that holds a part of the vault, for what it lacks.
        case onDemand = "on_demand"
    }

    /// An exit code with what it means for this verb.
    struct Exit: Sendable {
        let code: ExitCode
        let note: String?

        init(_ code: ExitCode, _ note: String? = nil) {
            self.code = code
            self.note = note
        }
    }

    /// A command line and what it does.
    struct Example: Sendable {
        let command: String
        let effect: String

        init(_ command: String, _ effect: String) {
            self.command = command
            self.effect = effect
        }
    }

    /// The document `--json` prints.
    struct Document: Sendable {
        let schema: String
        /// The members after `schema` and `ok`, in their order.
        let members: String

        init(_ schema: String, _ members: String) {
            self.schema = schema
            self.members = members
        }
    }

    /// What runs: local verbs never pay for concurrency.
    enum Action: Sendable {
        case local(@Sendable (Call) throws -> ExitCode)
        case network(@Sendable (Call) async throws -> ExitCode)
        /// Which of the two depends on the options.
        indirect case choose(@Sendable (Call) -> Action)
    }

    /// One word, or two for `remote add`.
    let words: [String]
    let group: Group
    let summary: String
    let paragraph: String
    /// Command lines without the leading `vaultctl`.
    let synopsis: [String]
    var options: [OptionSpec] = []
    var positionals: [Positional] = []
    /// Besides 2, 11, 12, 70 and the signals, which every verb may end with.
    let exits: [Exit]
    let examples: [Example]
    var network: Network = .never
    let document: Document
    /// Stands for its first word alone: `remote` is `remote list`.
    var isDefault = false
    /// It changes something, here or at a remote, before it answers.
    var changes = false
    /// Output may go through a pager.
    var pages = false
    let action: Action

    /// `exits`, and that a server asked for patience, which every verb that talks to one may end with.
    var allExits: [Exit] {
        var all = exits
        if network == .onDemand, !exits.contains(where: { $0.code == .network }) {
            all.append(Exit(.network, "contents that this clone lacks can not be fetched"))
        }
        if network != .never, !exits.contains(where: { $0.code == .deferred }) { all.append(Exit(.deferred)) }
        return all.sorted { $0.code.rawValue < $1.code.rawValue }
    }

    /// As typed: `remote add`.
    var name: String { words.joined(separator: " ") }
}
