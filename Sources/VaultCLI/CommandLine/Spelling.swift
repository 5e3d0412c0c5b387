/// Finds what a mistyped word was probably meant to be.
enum Spelling {
    /// The nearest candidate, when one is near enough to be worth a mention.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let typed = Array(word.utf8.prefix(64))
        guard !typed.isEmpty else { return nil }
        var best: (distance: Int, candidate: String)?
        for candidate in candidates {
            let distance = distance(typed, Array(candidate.utf8))
            if best.map({ distance < $0.distance }) ?? true { best = (distance, candidate) }
        }
        // A single letter is near to every other one.
        let letters = typed.drop { $0 == UInt8(ascii: "-") }.count
        guard let best, best.distance <= min(3, max(typed.count / 3, letters > 1 ? 1 : 0)) else { return nil }
        return best.candidate
    }

    /// Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row] + [Int](repeating: 0, count: right.count)
            for column in 1...right.count {
                let same = left[row - 1] == right[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (same ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    cost = min(cost, beforeLast[column - 2] + 1)
                }
                current[column] = cost
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
