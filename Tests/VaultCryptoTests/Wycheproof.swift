import Testing

/// One file of Wycheproof vectors, and the accounting that no case of it goes missing.
struct Wycheproof {
    /// What the file says of a case.
    enum Verdict: String {
        case valid
        case invalid
        case acceptable
    }

    /// One case with the group it belongs to.
    struct Case {
        let id: Int
        let verdict: Verdict
        let comment: String
        let group: TestJSON
        let fields: TestJSON
    }

    /// What became of a case.
    enum Outcome {
        case passed
        case failed(String)
        /// Not a case for the product; the reason is counted and the count compared.
        case outOfScope(String)
    }

    let name: String
    let cases: [Case]

    init(_ name: String) throws {
        self.name = name
        let root = try TestJSON(parsing: try [UInt8](vectorFile: "wycheproof/\(name)_test.json"))
        cases = try root.array("testGroups").flatMap { group in
            try group.array("tests").map { fields in
                Case(
                    id: try fields.int("tcId"), verdict: try #require(Verdict(rawValue: try fields.string("result"))),
                    comment: try fields.string("comment"), group: group, fields: fields)
            }
        }
        #expect(try root.int("numberOfTests") == cases.count)
    }

    /// Runs every case, and compares the totals with the README and the cases out of scope with `outOfScope`.
    func run(outOfScope expected: [String: Int] = [:], _ body: (Case) throws -> Outcome) throws {
        var passed = 0
        var skipped: [String: Int] = [:]
        for item in cases {
            switch Result(catching: { try body(item) }) {
            case .success(.passed): passed += 1
            case .success(.outOfScope(let reason)): skipped[reason, default: 0] += 1
            case .success(.failed(let reason)):
                Issue.record("\(name) case \(item.id), \(item.verdict), \(item.comment): \(reason)")
            case .failure(let error):
                Issue.record("\(name) case \(item.id), \(item.verdict), \(item.comment): threw \(error)")
            }
        }
        let row = try Self.readmeRow(name)
        #expect(skipped == expected)
        #expect(passed + skipped.values.reduce(0, +) == row.total, "every case is accounted for")
        for (verdict, count) in row.verdicts {
            #expect(cases.count { $0.verdict == verdict } == count, "\(verdict)")
        }
    }

    /// The numbers that the README gives for a file.
    private static func readmeRow(_ name: String) throws -> (total: Int, verdicts: [(Verdict, Int)]) {
        let text = String(decoding: try [UInt8](vectorFile: "wycheproof/README.md"), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("| `\(name)_test.json` |") })
        let numbers = line.split(separator: "|").dropFirst().prefix(2)
            .flatMap { $0.split { !$0.isNumber } }.compactMap { Int($0) }
        try #require(numbers.count == 4)
        return (numbers[0], [(.valid, numbers[1]), (.invalid, numbers[2]), (.acceptable, numbers[3])])
    }
}
