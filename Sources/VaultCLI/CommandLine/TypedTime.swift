internal import VaultSystem

/// Times as people type them for `--since` and `--until` (spec 10 A.6).
enum TypedTime {
    private static let day: Int64 = 86_400_000

    /// Unit to its length; a month is 30 days and a year 365, as in the reference.
    private static let units: [(names: [String], ms: Int64)] = [
        (["s", "sec", "second"], 1000), (["m", "min", "minute"], 60_000), (["h", "hour"], 3_600_000),
        (["d", "day"], day), (["w", "week"], 7 * day), (["mo", "month"], 30 * day), (["y", "year"], 365 * day),
    ]

    /// Milliseconds since 1970; nil for what is no time.
    ///
    /// Besides the times that `LocalTime` reads: `3d`, `12h`, `2 weeks ago`, `now`, `today`, `yesterday`.
    ///
    /// * `endOfDay`: A day without a time stands for its end.
    static func parse(_ text: String, nowMs: Int64, endOfDay: Bool) -> Int64? {
        if let time = LocalTime.parse(text) {
            return endOfDay && isDay(text) ? LocalTime.parse(text + "T23:59:59").map { $0 + 999 } ?? time : time
        }
        let words = text.lowercased().split(separator: " ").map(String.init)
        switch words {
        case ["now"]: return nowMs
        case ["today"], ["yesterday"]:
            let date = LocalTime.text(ms: words == ["today"] ? nowMs : nowMs - day).prefix { $0 != " " }
            return parse(String(date), nowMs: nowMs, endOfDay: endOfDay)
        default: return ago(words, nowMs)
        }
    }

    /// A length of time in milliseconds, as in `14d`, `12h` or `2 weeks`; nil for what is none.
    static func length(_ text: String) -> Int64? {
        let words = text.lowercased().split(separator: " ").map(String.init)
        guard words.last != "ago", let moment = ago(words, 0) else { return nil }
        return -moment
    }

    /// `2026-11-30` and nothing else.
    private static func isDay(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    private static func ago(_ words: [String], _ nowMs: Int64) -> Int64? {
        var rest = words
        if rest.count > 1, rest.last == "ago" { rest.removeLast() }
        if rest.count == 1, let first = rest.first {
            let number = first.prefix { $0.isASCII && $0.isNumber }
            rest = [String(number), String(first.dropFirst(number.count))]
        }
        guard rest.count == 2, let number = Int64(rest[0]), number >= 0 else { return nil }
        let unit = units.first {
            $0.names.contains { name in rest[1] == name || (name.count > 2 && rest[1] == name + "s") }
        }
        guard let unit else { return nil }
        let (length, overflow) = number.multipliedReportingOverflow(by: unit.ms)
        return overflow ? nil : nowMs - length
    }
}
