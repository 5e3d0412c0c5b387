/// Colour on a terminal that wants it (spec 10 B.9); never the only carrier of a meaning.
struct Colour: Sendable {
    /// What a colour stands for.
    enum Tone: String, Sendable {
        case good = "32"
        case changed = "33"
        case bad = "31"
        case id = "36"
        case faint = "2"
        case strong = "1"
    }

    let isOn: Bool

    /// `--color` › `NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb` › `core.color` › whether a terminal watches.
    init(call: Call) throws {
        let environment = call.surroundings
        switch try call.choice(GlobalOptions.color).flatMap(GlobalOptions.Tri.init(rawValue:)) ?? .auto {
        case .always: isOn = true
        case .never: isOn = false
        case .auto:
            if environment.filled("NO_COLOR") != nil {
                isOn = false
            } else if let force = environment.filled("CLICOLOR_FORCE"), force != "0" {
                isOn = true
            } else {
                switch try call.settings().text(.color) {
                case "always": isOn = true
                case "never": isOn = false
                default: isOn = call.output.isTerminal && environment.text("TERM") != "dumb"
                }
            }
        }
    }

    /// Text in a colour, or as it is.
    func apply(_ tone: Tone?, _ text: String) -> String {
        guard isOn, let tone else { return text }
        return "\u{1b}[\(tone.rawValue)m\(text)\u{1b}[0m"
    }
}
