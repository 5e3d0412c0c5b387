/// Times in records: milliseconds since 1970, or ISO 8601 text as web clients write it.
enum Timestamp {
    /// The time a member gives; 0 when there is none.
    static func milliseconds(_ value: JSONValue?) throws(FormatError) -> Int64 {
        switch value {
        case nil, .null: return 0
        case .integer(let value): return value
        case .number(let text):
            // The reference takes a fraction for seconds.
            guard let seconds = Double(text), seconds.magnitude < 1e12 else { throw unreadable() }
            return Int64(seconds * 1000)
        case .string(let text):
            let text = UTF8Text.trimmed(text)
            if text.isEmpty { return 0 }
            if let value = SchemaText.decimal(text) { return value }
            guard let value = iso(Array(text.utf8)) else { throw unreadable() }
            return value
        default: throw unreadable()
        }
    }

    private static func unreadable() -> FormatError { .malformed("a time is neither milliseconds nor ISO 8601") }

    /// `YYYY-MM-DD`, then optionally `T` or a blank and `hh:mm[:ss[.fff]]`, then optionally `Z` or `±hh[:mm]`; UTC by default.
    static func iso(_ text: [UInt8]) -> Int64? {
        var scanner = Scanner(text: text)
        guard let year = scanner.digits(4), scanner.take(0x2D), let month = scanner.digits(2), scanner.take(0x2D),
            let day = scanner.digits(2), year > 0, (1...12).contains(month),
            day >= 1, day <= daysIn(month: month, year: year)
        else { return nil }
        var time = days(year: year, month: month, day: day) * 86_400_000
        guard !scanner.isAtEnd else { return time }
        guard scanner.take(0x54) || scanner.take(0x20) || scanner.take(0x74) else { return nil }
        guard let hour = scanner.digits(2), hour < 24, scanner.take(0x3A), let minute = scanner.digits(2), minute < 60
        else { return nil }
        time += (hour * 60 + minute) * 60_000
        if scanner.take(0x3A) {
            guard let second = scanner.digits(2), second < 60 else { return nil }
            time += second * 1000
            if scanner.take(0x2E) || scanner.take(0x2C) {
                guard let fraction = scanner.milliseconds() else { return nil }
                time += fraction
            }
        }
        guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        return time - offset
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 of a day of the Gregorian calendar.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // Years that begin in March, so that the leap day comes last.
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    private struct Scanner {
        let text: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == text.count }

        mutating func take(_ byte: UInt8) -> Bool {
            guard position < text.count, text[position] == byte else { return false }
            position += 1
            return true
        }

        mutating func digits(_ count: Int) -> Int64? {
            guard text.count - position >= count else { return nil }
            var value: Int64 = 0
            for byte in text[position..<(position + count)] {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            position += count
            return value
        }

        /// The digits of a fraction, cut to three; there may be none.
        mutating func milliseconds() -> Int64? {
            var value: Int64 = 0
            var count = 0
            while position < text.count, (0x30...0x39).contains(text[position]) {
                if count < 3 { value = value * 10 + Int64(text[position] - 0x30) }
                count += 1
                position += 1
            }
            guard count <= 32 else { return nil }
            for _ in 0..<max(0, 3 - count) { value *= 10 }
            return value
        }

        /// The distance from UTC in milliseconds; 0 when the text has ended.
        mutating func offset() -> Int64? {
            if isAtEnd || take(0x5A) || take(0x7A) { return 0 }
            let isWest = take(0x2D)
            guard isWest || take(0x2B), let hours = digits(2), hours < 24 else { return nil }
            var minutes: Int64 = 0
            if !isAtEnd {
                _ = take(0x3A)
                guard let value = digits(2), value < 60 else { return nil }
                minutes = value
            }
            return (hours * 60 + minutes) * (isWest ? -60_000 : 60_000)
        }
    }
}
