internal import VaultFormat

/// Finds the lines that two texts have in common, in order (Myers, "An O(ND) Difference Algorithm and Its
/// Variations", 1986, in its form with linear space).
///
/// Lines are numbers: equal lines have equal numbers. Texts that differ so much that the shortest script would take too
/// long get one that is longer than need be; what it calls common is common all the same.
struct LineDiff {
    /// A run of lines that both texts have.
    struct Match: Sendable, Equatable {
        /// Its first line in the old text.
        var old: Int
        /// Its first line in the new text.
        var new: Int
        var count: Int
    }

    /// A run of lines that differs: what the old text has and what the new text has in its place.
    struct Hunk: Sendable, Equatable {
        var old: Range<Int>
        var new: Range<Int>
    }

    /// Edits after which a search takes the best way found so far.
    private static let costLimit = 256

    private let old: [Int]
    private let new: [Int]
    /// How far along each diagonal so many edits lead, from the beginning and from the end.
    private var forward: [Int]
    private var backward: [Int]
    private var found: [Match] = []

    private static let unreachable = Int.min / 4

    /// The common runs, in order, none empty.
    static func matches(_ old: [Int], _ new: [Int]) -> [Match] {
        // Lines that the other text does not have at all only make the search longer.
        let (inOld, inNew) = (Set(old), Set(new))
        let keptOld = old.indices.filter { inNew.contains(old[$0]) }
        let keptNew = new.indices.filter { inOld.contains(new[$0]) }
        var diff = LineDiff(keptOld.map { old[$0] }, keptNew.map { new[$0] })
        diff.search()
        var result: [Match] = []
        for match in diff.found {
            for index in 0..<match.count {
                let (left, right) = (keptOld[match.old + index], keptNew[match.new + index])
                if let last = result.last, last.old + last.count == left, last.new + last.count == right {
                    result[result.count - 1].count += 1
                } else {
                    result.append(Match(old: left, new: right, count: 1))
                }
            }
        }
        return result
    }

    /// The runs that differ, in order; none where the texts are equal.
    static func hunks(_ old: [Int], _ new: [Int]) -> [Hunk] {
        var result: [Hunk] = []
        var (left, right) = (0, 0)
        for match in matches(old, new) + [Match(old: old.count, new: new.count, count: 0)] {
            if left < match.old || right < match.new {
                result.append(Hunk(old: left..<match.old, new: right..<match.new))
            }
            (left, right) = (match.old + match.count, match.new + match.count)
        }
        return result
    }

    private init(_ old: [Int], _ new: [Int]) {
        self.old = old
        self.new = new
        forward = Array(repeating: 0, count: old.count + new.count + 3)
        backward = forward
    }

    private mutating func search() {
        // Not by recursion: how deep it would go is the texts' to say.
        var pending = [(0..<old.count, 0..<new.count)]
        while let (left, right) = pending.popLast() {
            let (a, b) = trimmed(left, right)
            guard !a.isEmpty, !b.isEmpty else { continue }
            let (x, y) = split(a, b)
            pending.append((x..<a.upperBound, y..<b.upperBound))
            pending.append((a.lowerBound..<x, b.lowerBound..<y))
        }
        found.sort { $0.old < $1.old }
    }

    /// Takes what both ends have in common off a pair of ranges.
    private mutating func trimmed(_ left: Range<Int>, _ right: Range<Int>) -> (Range<Int>, Range<Int>) {
        var (start, end) = (0, 0)
        let shorter = min(left.count, right.count)
        while start < shorter, old[left.lowerBound + start] == new[right.lowerBound + start] { start += 1 }
        while end < shorter - start, old[left.upperBound - 1 - end] == new[right.upperBound - 1 - end] { end += 1 }
        if start > 0 { found.append(Match(old: left.lowerBound, new: right.lowerBound, count: start)) }
        if end > 0 { found.append(Match(old: left.upperBound - end, new: right.upperBound - end, count: end)) }
        return (
            left.lowerBound + start..<left.upperBound - end, right.lowerBound + start..<right.upperBound - end
        )
    }

    /// A point on a short way from the beginning of both ranges to their end, other than these two.
    ///
    /// The ranges are not empty and differ in their first and last line. A diagonal is the position in the old text
    /// less the one in the new.
    private mutating func split(_ a: Range<Int>, _ b: Range<Int>) -> (Int, Int) {
        let (n, m) = (a.count, b.count)
        let delta = n - m
        // The place of diagonal 0.
        let zero = m + 1
        // No search goes further from where it begins than the limit.
        for index in max(0, zero - Self.costLimit - 1)..<min(n + m + 3, zero + Self.costLimit + 2) {
            forward[index] = Self.unreachable
        }
        let end = zero + delta
        for index in max(0, end - Self.costLimit - 1)..<min(n + m + 3, end + Self.costLimit + 2) {
            backward[index] = -Self.unreachable
        }
        forward[zero] = 0
        backward[zero + delta] = n
        var (low, high) = (0, 0)
        var (backLow, backHigh) = (delta, delta)
        var cost = 0
        while true {
            cost += 1
            (low, high) = Self.widened(low, high, n, m)
            for k in stride(from: high, through: low, by: -2) {
                let reached = max(forward[zero + k - 1] + 1, forward[zero + k + 1])
                let x = slide(reached, k, a, b)
                forward[zero + k] = x
                if delta & 1 != 0, backLow...backHigh ~= k, x >= 0, backward[zero + k] <= x {
                    return (a.lowerBound + x, b.lowerBound + x - k)
                }
            }
            (backLow, backHigh) = Self.widened(backLow, backHigh, n, m)
            for k in stride(from: backHigh, through: backLow, by: -2) {
                let reached = min(backward[zero + k - 1], backward[zero + k + 1] - 1)
                let x = slideBack(reached, k, a, b)
                backward[zero + k] = x
                if delta & 1 == 0, low...high ~= k, x <= n, forward[zero + k] >= x {
                    return (a.lowerBound + x, b.lowerBound + x - k)
                }
            }
            if cost >= Self.costLimit { return furthest(low, high, a, b, zero) }
        }
    }

    /// The diagonals that one edit more can reach; those beyond an end are left out, keeping the parity.
    private static func widened(_ low: Int, _ high: Int, _ n: Int, _ m: Int) -> (Int, Int) {
        (low > -m ? low - 1 : low + 1, high < n ? high + 1 : high - 1)
    }

    /// Goes on from a point as long as the lines are equal; a point outside of the texts is none.
    private func slide(_ from: Int, _ k: Int, _ a: Range<Int>, _ b: Range<Int>) -> Int {
        var x = from
        guard x >= 0, x <= a.count, x - k >= 0, x - k <= b.count else { return Self.unreachable }
        while x < a.count, x - k < b.count, old[a.lowerBound + x] == new[b.lowerBound + x - k] { x += 1 }
        return x
    }

    private func slideBack(_ from: Int, _ k: Int, _ a: Range<Int>, _ b: Range<Int>) -> Int {
        var x = from
        guard x >= 0, x <= a.count, x - k >= 0, x - k <= b.count else { return -Self.unreachable }
        while x > 0, x - k > 0, old[a.lowerBound + x - 1] == new[b.lowerBound + x - k - 1] { x -= 1 }
        return x
    }

    /// The point furthest from the beginning that so many edits lead to.
    private func furthest(
        _ low: Int, _ high: Int, _ a: Range<Int>, _ b: Range<Int>, _ zero: Int
    ) -> (Int, Int) {
        var best = (x: 0, y: 0)
        for k in stride(from: low, through: high, by: 2) {
            let x = forward[zero + k]
            if x >= 0, 2 * x - k > best.x + best.y { best = (x, x - k) }
        }
        return (a.lowerBound + best.x, b.lowerBound + best.y)
    }
}

/// The lines of two or three texts as numbers, equal for equal lines.
struct LineTable {
    private var numbers: [[UInt8]: Int] = [:]

    /// Splits a text behind each line feed and numbers the pieces; the last may have no line feed.
    mutating func lines(of text: [UInt8]) -> (bytes: [ArraySlice<UInt8>], numbers: [Int]) {
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        for index in text.indices where text[index] == UInt8(ascii: "\n") {
            pieces.append(text[start...index])
            start = index + 1
        }
        if start < text.count { pieces.append(text[start...]) }
        return (pieces, pieces.map { number(of: $0) })
    }

    private mutating func number(of line: ArraySlice<UInt8>) -> Int {
        let bytes = Array(line)
        if let known = numbers[bytes] { return known }
        let number = numbers.count
        numbers[bytes] = number
        return number
    }
}
