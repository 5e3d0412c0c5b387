internal import VaultCore
internal import VaultSystem

/// The one question of a verb that would lose something (spec 10 B.8).
enum Confirmation {
    /// Asks, unless `-y` has answered.
    ///
    /// - Throws: `inputNeeded` when nobody can be asked, `cancelled` when the answer is no.
    static func require(_ question: String, _ call: Call) throws {
        guard !call.has(GlobalOptions.yes) else { return }
        guard call.mayAsk, call.surroundings.terminal.isAvailable else {
            throw VaultError(.inputNeeded, "\(question) needs an answer; nothing was changed", hint: "-y answers yes")
        }
        let answer = try call.messages.whileAsking { () throws -> [UInt8] in
            do throws(Errno) {
                return try call.surroundings.terminal.ask("\(question) [y/N] ", hidden: false)
            } catch {
                try call.checkStop()
                throw VaultError(.inputNeeded, "the terminal did not answer", cause: error)
            }
        }
        let word = String(decoding: answer, as: UTF8.self).split { $0.isWhitespace }.first?.lowercased()
        guard word == "y" || word == "yes" else {
            throw VaultError(.cancelled, "declined; nothing was changed")
        }
    }
}
