internal import CSystemShim

/// Times for people: local ones with their offset, and UTC as RFC 3339.
package enum LocalTime {
    /// `2026-11-30 14:03:05 +0100` in the zone of `TZ`.
    package static func text(ms: Int64) -> String {
        var fields = vs_local_time()
        // Years beyond what the C library counts are shown in UTC.
        guard unsafe vs_local_time_of(split(ms).seconds, &fields) == 0 else { return utc(ms: ms) }
        let offset = Int(fields.offset_minutes)
        let zone = (offset < 0 ? "-" : "+") + padded(abs(offset) / 60, 2) + padded(abs(offset) % 60, 2)
        let date = dateText(Int(fields.year), Int(fields.month), Int(fields.day))
        return "\(date) \(timeText(Int(fields.hour), Int(fields.minute), Int(fields.second))) \(zone)"
    }

    /// `2026-11-30T13:03:05Z`; with `milliseconds` `2026-11-30T13:03:05.250Z`.
    package static func utc(ms: Int64, milliseconds: Bool = false) -> String {
        let (seconds, rest) = split(ms)
        let civil = CivilTime(secondsSince1970: seconds)
        let fraction = milliseconds ? "." + padded(Int(rest), 3) : ""
        return dateText(civil.year, civil.month, civil.day) + "T"
            + timeText(civil.hour, civil.minute, civil.second) + fraction + "Z"
    }

    /// Milliseconds since 1970 of an RFC 3339 time with a zone (`Z` or `±hh:mm`); nil for anything else.
    package static func parseRFC3339(_ text: String) -> Int64? {
        guard let parsed = TimeParser.parse(text), let zone = parsed.zoneMinutes, parsed.hasTime else { return nil }
        return parsed.time.milliseconds(zoneMinutes: zone)
    }

    /// Milliseconds since 1970 of a time a user typed; nil when it is none.
    ///
    /// `2026-11-30`, `2026-11-30 14:03[:05]` (or with `T`), each with `Z`, `±hh:mm` or `±hhmm` behind, or `@seconds`.
    /// Without a zone it is local time.
    package static func parse(_ text: String) -> Int64? {
        if text.hasPrefix("@") {
            guard let seconds = Int64(text.dropFirst()) else { return nil }
            let (ms, overflow) = seconds.multipliedReportingOverflow(by: 1000)
            return overflow ? nil : ms
        }
        guard let parsed = TimeParser.parse(text) else { return nil }
        if let zone = parsed.zoneMinutes { return parsed.time.milliseconds(zoneMinutes: zone) }
        return localMilliseconds(parsed.time)
    }

    /// The milliseconds of a local time, daylight saving as the zone has it then.
    private static func localMilliseconds(_ time: CivilTime) -> Int64? {
        let fields = vs_local_time(
            year: Int32(time.year), month: Int32(time.month), day: Int32(time.day), hour: Int32(time.hour),
            minute: Int32(time.minute), second: Int32(time.second), offset_minutes: 0)
        var seconds: Int64 = 0
        guard unsafe withUnsafePointer(to: fields, { unsafe vs_seconds_of_local_time($0, &seconds) }) == 0 else {
            return nil
        }
        return seconds * 1000 + Int64(time.millisecond)
    }

    private static func split(_ ms: Int64) -> (seconds: Int64, ms: Int64) {
        let (quotient, remainder) = ms.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? (quotient - 1, remainder + 1000) : (quotient, remainder)
    }

    private static func dateText(_ year: Int, _ month: Int, _ day: Int) -> String {
        "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    private static func timeText(_ hour: Int, _ minute: Int, _ second: Int) -> String {
        "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number.magnitude)
        let zeros = String(repeating: "0", count: max(0, width - digits.count))
        return (number < 0 ? "-" : "") + zeros + digits
    }
}
