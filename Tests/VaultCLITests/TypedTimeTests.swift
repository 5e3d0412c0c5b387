import Testing
import VaultSystem

@testable import VaultCLI

@Suite("Times as people type them")
struct TypedTimeTests {
    /// 2026-11-30T12:00:00Z, a count of seconds by `date -u -d`.
    private let now: Int64 = 1_796_040_000_000

    private func parse(_ text: String, endOfDay: Bool = false) -> Int64? {
        TypedTime.parse(text, nowMs: now, endOfDay: endOfDay)
    }

    @Test(
        arguments: [
            ("now", 0), ("90s", 90), ("1 second ago", 1), ("30m", 1800), ("5 min", 300), ("2 minutes ago", 120),
            ("12h", 43_200), ("1 hour", 3600), ("3d", 259_200), ("3 days ago", 259_200), ("2w", 1_209_600),
            ("2 weeks ago", 1_209_600), ("1mo", 2_592_000), ("6 months ago", 15_552_000), ("1y", 31_536_000),
            ("0 d", 0),
            ("1 DAY AGO", 86_400),
        ] as [(String, Int64)]) func `so long ago`(text: String, seconds: Int64)
    {
        #expect(parse(text) == now - seconds * 1000)
    }

    @Test func `a day ends with its last millisecond`() {
        #expect(parse("2026-11-30T12:00:00Z") == now && parse("@1796040000") == now)
        guard let start = parse("2026-11-30"), let end = parse("2026-11-30", endOfDay: true) else {
            Issue.record("a day is no time")
            return
        }
        #expect(end - start == 86_400_000 - 1)
        #expect(parse("2026-11-30T12:00:00Z", endOfDay: true) == now)
        #expect(parse("yesterday").map { $0 < now } == true)
        #expect(parse("today").map { now - $0 < 86_400_000 && now >= $0 } == true)
    }

    @Test(arguments: [
        "", "soon", "d", "3", "-3d", "3x", "3 days before", "ago", "3 3d", "99999999999999999999d",
        "9999999999999999 y", "2026-13-01", "2026-02-30",
    ]) func `anything else is none`(text: String) {
        #expect(parse(text) == nil)
    }
}
