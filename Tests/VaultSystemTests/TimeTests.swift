import Testing
import VaultSystem
import VaultTestSupport

/// Expected values from GNU date: `date -u -d @N`, `TZ=… date -d …`.
@Suite("Times are shown and read")
struct TimeTests {
    @Test(
        "UTC as RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1_796_043_785_000, "2026-11-30T13:03:05Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"), (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"), (-1000, "1969-12-31T23:59:59Z"),
            (-2_208_988_800_000, "1900-01-01T00:00:00Z"), (253_402_300_799_000, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)])
    func utc(ms: Int64, expected: String) {
        #expect(LocalTime.utc(ms: ms) == expected)
        #expect(LocalTime.parseRFC3339(expected) == (ms >= -62_167_219_200_000 ? ms : nil))
    }

    @Test("milliseconds are shown when asked for, and rounded down before 1970")
    func milliseconds() {
        #expect(LocalTime.utc(ms: 1_796_043_785_007, milliseconds: true) == "2026-11-30T13:03:05.007Z")
        #expect(LocalTime.utc(ms: -1, milliseconds: true) == "1969-12-31T23:59:59.999Z")
    }

    @Test("any number of milliseconds is shown without a trap", arguments: [Int64.min, Int64.max])
    func extremes(ms: Int64) {
        #expect(LocalTime.utc(ms: ms).hasSuffix("Z"))
        #expect(!LocalTime.text(ms: ms).isEmpty)
    }

    @Test(
        "RFC 3339 with zones and fractions",
        arguments: [
            ("2026-11-30T14:03:05+01:00", 1_796_043_785_000), ("2026-11-30t13:03:05.2509z", 1_796_043_785_250),
            ("2026-11-30T08:33:05-04:30", 1_796_043_785_000), ("2026-11-30 13:03:05Z", 1_796_043_785_000),
        ] as [(String, Int64)])
    func rfc3339(text: String, expected: Int64) {
        #expect(LocalTime.parseRFC3339(text) == expected)
    }

    @Test(
        "what is no time is refused",
        arguments: [
            "", "2026", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-32T00:00:00Z", "2026-1-1T00:00:00Z",
            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:00", "2026-01-01",
            "2026-01-01T00:00:00ZZ",
            "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+24:00", "２026-01-01T00:00:00Z", "@12",
        ])
    func refused(text: String) {
        #expect(LocalTime.parseRFC3339(text) == nil)
    }

    @Test("local times carry their offset and follow daylight saving")
    func local() async {
        await #expect(processExitsWith: .success) {
            TestEnvironment.set("TZ", "Europe/Berlin")
            try #require(LocalTime.text(ms: 1_796_043_785_000) == "2026-11-30 14:03:05 +0100")
            try #require(LocalTime.text(ms: 1_780_000_000_000) == "2026-05-28 22:26:40 +0200")
            try #require(LocalTime.parse("2026-11-30 14:03:05") == 1_796_043_785_000)
            try #require(LocalTime.parse("2026-11-30T14:03") == 1_796_043_780_000)
            try #require(LocalTime.parse("2026-05-28") == 1_779_919_200_000)
            try #require(LocalTime.parse("2026-05-28 20:26:40 +0000") == 1_780_000_000_000)
            try #require(LocalTime.parse("1969-12-31T23:59:59Z") == -1000)
            try #require(LocalTime.parse("1970-01-01 00:59:59") == -1000)
            try #require(LocalTime.parse("@1780000000") == 1_780_000_000_000)
            try #require(LocalTime.parse("@99999999999999999") == nil)
            try #require(LocalTime.parse("yesterday") == nil)
            TestEnvironment.set("TZ", "America/St_Johns")
            try #require(LocalTime.text(ms: 1_796_043_785_000) == "2026-11-30 09:33:05 -0330")
        }
    }

    @Test("the system's clock agrees with the file system's, and durations never shrink")
    func clock() throws {
        let clock = SystemClock()
        let folder = try TemporaryFolder("clock")
        let changed = try folder.open().status().changedNs
        #expect(abs(clock.nowNs - changed) < 5_000_000_000)
        #expect(clock.nowMs == clock.nowNs / 1_000_000 || clock.nowMs > 0)
        let first = clock.monotonicNs
        #expect(clock.monotonicNs >= first)
    }
}
