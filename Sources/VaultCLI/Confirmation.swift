internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The one question of a verb that would lose something (spec 10 B.8).
enum Confirmation {
    /// Asks, unless `-y` has answered.
    ///
    /// - Throws: `inputNeeded` when nobody can be asked, `cancelled` when the answer is no.
    static func require(_ question: String, _ call: Call) throws {
        guard !call.has(GlobalOptions.yes) else { return }
        let word = try ask(question, "[y/N]", hint: "-y answers yes", call)?.lowercased()
        guard word == "y" || word == "yes" else { throw declined() }
    }

    /// `--confirm`, which answers what can not be taken back.
    static let confirm = OptionSpec.value(
        "--confirm", argument: "ID", help: "the vault id, which confirms what can not be taken back")

    /// Has the vault id typed before something that can not be taken back, unless `--confirm` gives it; `-y` does not.
    ///
    /// - Throws: `usage` when `--confirm` gives another id, `inputNeeded`, `cancelled`.
    static func requireID(_ id: VaultID, _ question: String, _ call: Call) throws {
        if let given = try call.text(confirm) {
            guard given == id.text else {
                throw Usage.error("option '--confirm' does not name this vault, which is \(id)", about: [call.verb])
            }
            return
        }
        let word = try ask("\(question) Type the vault id \(id) to go on:", "", hint: "--confirm \(id)", call)
        guard word == id.text else { throw declined() }
    }

    /// The first word of the answer; nil when it is empty.
    private static func ask(_ question: String, _ choice: String, hint: String, _ call: Call) throws -> String? {
        guard call.mayAsk, call.surroundings.terminal.isAvailable else {
            throw VaultError(.inputNeeded, "\(question) needs an answer; nothing was changed", hint: hint)
        }
        let answer = try call.messages.whileAsking { () throws -> [UInt8] in
            do throws(Errno) {
                return try call.surroundings.terminal.ask(
                    choice.isEmpty ? "\(question) " : "\(question) \(choice) ", hidden: false)
            } catch {
                try call.checkStop()
                throw VaultError(.inputNeeded, "the terminal did not answer", cause: error)
            }
        }
        return String(decoding: answer, as: UTF8.self).split { $0.isWhitespace }.first.map(String.init)
    }

    private static func declined() -> VaultError {
        VaultError(.cancelled, "declined; nothing was changed")
    }
}
