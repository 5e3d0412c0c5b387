import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("Graphs drawn in characters")
struct GraphDrawingTests {
    /// Commits by letter with their parents, newest first.
    private func drawn(_ commits: [(Character, String)], hidden: Set<Character> = []) throws -> [String] {
        var drawing = GraphDrawing()
        var rows: [String] = []
        for (name, parents) in commits {
            let graph = drawing.add(try id(name), parents: try parents.map(id), isShown: !hidden.contains(name))
            guard let graph else { continue }
            rows += graph.before
            rows.append(graph.commit + String(repeating: " ", count: graph.width - graph.commit.count) + "\(name)")
            rows += graph.after
        }
        return rows
    }

    private func id(_ name: Character) throws -> ObjectID {
        try ObjectID("obj-cas-imm-0000000000" + String(name.asciiValue ?? 0, radix: 16))
    }

    /// The same history drawn by git, commits named by their subjects.
    private func byGit(_ commits: [(Character, String)]) throws -> [String] {
        let scratch = try TemporaryFolder("graph")
        var script = "cd \(scratch.path.text) && git init -q . && T=$(git write-tree) && export GIT_AUTHOR_NAME=a "
        script += "GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a\n"
        for (index, (name, parents)) in commits.reversed().enumerated() {
            script += "GIT_AUTHOR_DATE='@\(1000 + index) +0000' GIT_COMMITTER_DATE='@\(1000 + index) +0000' "
            script +=
                "git commit-tree $T -m \(name) \(parents.map { "-p $c\($0)" }.joined(separator: " ")) >c || exit 1\n"
            script += "c\(name)=$(cat c); git update-ref refs/heads/\(name) $c\(name)\n"
        }
        script += "git log --graph --date-order --format=%s --all"
        let text = String(decoding: try Shell.run(script), as: UTF8.self)
        return text.split(separator: "\n").map { row in
            // Git lets a line lean already in the column that it leaves with the next row.
            let straight = row.enumerated().map { $0.offset % 2 == 0 && $0.element == "/" ? "|" : $0.element }
            return String(straight.reversed().drop { $0 == " " }.reversed())
        }
    }

    private static let shapes: [[(Character, String)]] = [
        // A line; a branch that was merged; two branches; one in another; a criss-cross.
        [("c", "b"), ("b", "a"), ("a", "")],
        [("d", "bc"), ("c", "a"), ("b", "a"), ("a", "")],
        [("d", "bc"), ("b", "a"), ("c", "a"), ("a", "")],
        [("c", "a"), ("b", "a"), ("a", "")],
        [("g", "ef"), ("f", "d"), ("e", "bc"), ("c", "a"), ("d", "a"), ("b", "a"), ("a", "")],
        [("e", "bc"), ("d", "cb"), ("c", "a"), ("b", "a"), ("a", "")],
        // A merge of what is next to it; three parents, with and without a line to the right.
        [("d", "bc"), ("b", "ac"), ("c", "a"), ("a", "")],
        [("e", "bcd"), ("d", "a"), ("c", "a"), ("b", "a"), ("a", "")],
        // Roots of their own.
        [("d", "b"), ("c", ""), ("b", "a"), ("a", "")],
    ]

    @Test(arguments: shapes) func `common shapes are drawn as git draws them`(commits: [(Character, String)]) throws {
        let expected = try byGit(commits)
        #expect(try drawn(commits) == expected, "\n\(expected.joined(separator: "\n"))")
    }

    @Test func `what begins where something ended stands apart from it`() throws {
        #expect(try drawn([("c", ""), ("b", "a"), ("a", "")]) == ["* c", "", "* b", "* a"])
        #expect(
            try drawn([("d", "a"), ("c", ""), ("b", "a"), ("a", "")]) == [
                "* d", "| * c", "|", "| * b", "|/", "* a",
            ])
    }

    @Test func `lines run through commits that are not shown`() throws {
        let commits: [(Character, String)] = [("e", "cd"), ("d", "b"), ("c", "b"), ("b", "a"), ("a", "")]
        #expect(try drawn(commits, hidden: ["d", "b"]) == ["*   e", "|\\", "* | c", "|/", "* a"])
        // A merge that is not shown still leads two ways.
        #expect(
            try drawn([("f", "e")] + commits, hidden: ["e"]) == [
                "* f", "|\\", "| * d", "* | c", "|/", "* b", "* a",
            ])
    }

    @Test(arguments: 0..<60) func `whoever follows the lines finds the parents of every commit`(seed: UInt64) throws {
        let random = SeededRandom(seed: seed)
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        var commits: [(Character, String)] = []
        for (index, letter) in letters.enumerated() {
            var parents = ""
            for _ in 0..<(random.below(8) == 0 ? 0 : 1 + random.below(seed % 3 == 0 ? 4 : 2)) where index > 0 {
                let parent = letters[max(0, index - 1 - random.below(5))]
                if !parents.contains(parent) { parents.append(parent) }
            }
            commits.insert((letter, parents), at: 0)
        }
        let rows = try drawn(commits)
        for (name, parents) in commits {
            #expect(try followed(name, rows) == parents.sorted(), "\(name)\n\(rows.joined(separator: "\n"))")
        }
    }

    /// The commits that the lines below a mark lead to, read from the drawing alone.
    private func followed(_ name: Character, _ text: [String]) throws -> [Character] {
        let rows = text.map(Array.init)
        func at(_ row: Int, _ column: Int) -> Character {
            row < rows.count && column >= 0 && column < rows[row].count ? rows[row][column] : " "
        }
        let start = try #require(rows.firstIndex { $0.contains("*") && $0.last == name })
        let mark = try #require(rows[start].firstIndex(of: "*"))
        var found: Set<Character> = []
        // Where the arms of a commit with many parents end.
        var arm = mark + 1
        while "-.".contains(at(start, arm)) { arm += 1 }
        var ends = [(start, mark)]
        while let (row, column) = ends.popLast() {
            for (next, place) in below(row, column, at, arm: arm) {
                if at(next, place) == "*" {
                    if let name = rows[next].last { found.insert(name) }
                } else {
                    ends.append((next, place))
                }
            }
        }
        return found.sorted()
    }

    /// Where a line goes on in the row below.
    private func below(
        _ row: Int, _ column: Int, _ at: (Int, Int) -> Character, arm: Int
    ) -> [(Int, Int)] {
        let next = row + 1
        switch at(row, column) {
        case "*":
            var found: [(Int, Int)] = []
            if "|*".contains(at(next, column)) { found.append((next, column)) }
            if at(next, column - 1) == "/" { found.append((next, column - 1)) }
            // To the right lead the first parents of all arms.
            for place in stride(from: column + 1, through: max(column + 1, arm), by: 2) where at(next, place) == "\\" {
                found.append((next, place))
            }
            return found
        case "\\":
            if "|*".contains(at(next, column + 1)) { return [(next, column + 1)] }
            return at(next, column + 2) == "\\" ? [(next, column + 2)] : at(next, column) == "/" ? [(next, column)] : []
        case "/", "_":
            if at(row, column - 1) == "_" { return [(row, column - 1)] }
            if at(row, column - 2) == "_" { return [(row, column - 2)] }
            if at(next, column - 2) == "/" { return [(next, column - 2)] }
            return "|*".contains(at(next, column - 1))
                ? [(next, column - 1)] : at(next, column) == "\\" ? [(next, column)] : []
        default:
            if "|*".contains(at(next, column)) { return [(next, column)] }
            if at(next, column - 1) == "/" { return [(next, column - 1)] }
            if at(next, column + 1) == "\\" { return [(next, column + 1)] }
            return []
        }
    }
}
