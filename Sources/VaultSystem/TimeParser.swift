/// Reads dates and times as users and RFC 3339 write them.
struct TimeParser {
    /// A time as it stood in the text.
    struct Parsed {
        var time: CivilTime
        /// Minutes east of UTC; nil when the text names no zone.
        var zoneMinutes: Int?
        var hasTime: Bool
    }

    private var rest: ArraySlice<UInt8>

    static func parse(_ text: String) -> Parsed? {
        var parser = TimeParser(rest: Array(text.utf8)[...])
        return parser.parse()
    }

    private mutating func parse() -> Parsed? {
        guard let year = digits(4), take("-"), let month = digits(2), take("-"), let day = digits(2) else { return nil }
        var time = CivilTime(year: year, month: month, day: day)
        var hasTime = false
        if take("T") || take("t") || take(" ") {
            guard let hour = digits(2), take(":"), let minute = digits(2) else { return nil }
            (time.hour, time.minute, hasTime) = (hour, minute, true)
            if take(":") {
                guard let second = digits(2) else { return nil }
                time.second = second
                if take(".") {
                    guard let fraction = fraction() else { return nil }
                    time.millisecond = fraction
                }
            }
            _ = take(" ")
        }
        guard let zone = zone(), rest.isEmpty, time.isValid else { return nil }
        return Parsed(time: time, zoneMinutes: zone, hasTime: hasTime)
    }

    /// The zone: outer nil for a malformed one, inner nil for none.
    private mutating func zone() -> Int?? {
        if rest.isEmpty { return .some(nil) }
        if take("Z") || take("z") { return .some(0) }
        let sign: Int
        if take("+") {
            sign = 1
        } else if take("-") {
            sign = -1
        } else {
            return nil
        }
        guard let hours = digits(2), hours < 24 else { return nil }
        _ = take(":")
        guard let minutes = digits(2), minutes < 60 else { return nil }
        return .some(sign * (hours * 60 + minutes))
    }

    /// Digits after the point, as milliseconds; further ones are dropped.
    private mutating func fraction() -> Int? {
        var value = 0
        var count = 0
        while let digit = digit() {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        while count < 3 {
            value *= 10
            count += 1
        }
        return value
    }

    private mutating func digits(_ count: Int) -> Int? {
        var value = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int? {
        guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        rest.removeFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
