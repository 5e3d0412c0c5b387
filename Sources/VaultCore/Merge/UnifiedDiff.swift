/// The lines that differ between two texts, with equal lines around them.
struct UnifiedDiff {
    /// Lines, of both texts together, beyond which they are not compared: what a comparison keeps of each is bounded.
    static let lineLimit = 2_000_000

    /// The hunks of a patch; nil when there are too many lines.
    ///
    /// * `context`: Equal lines before and behind each difference; hunks that would touch are one.
    static func hunks(_ old: [UInt8], _ new: [UInt8], context: Int) -> [DiffHunk]? {
        // No text has more lines than bytes: what goes beyond is nothing to count through.
        let context = min(max(context, 0), max(old.count, new.count))
        let shared = sharedEnds(old, new)
        let middle = (
            old: Array(old[shared.start..<old.count - shared.end]),
            new: Array(new[shared.start..<new.count - shared.end])
        )
        let feeds = middle.old.count { $0 == 0x0A } + middle.new.count { $0 == 0x0A }
        guard feeds <= lineLimit else { return nil }
        var table = LineTable()
        let left = table.lines(of: middle.old)
        let right = table.lines(of: middle.new)
        let groups = LineDiff.hunks(left.numbers, right.numbers)
        guard !groups.isEmpty else { return [] }
        let before = EqualLines(old, upTo: shared.start, last: context)
        let behind = EqualLines(old, from: old.count - shared.end, first: context)
        let texts = Texts(
            old: left.bytes, new: right.bytes, before: before.lines, behind: behind.lines, skipped: before.skipped)
        return joined(groups, context: context, within: texts).map { texts.hunk($0, context: context) }
    }

    /// Bytes at both ends that are the same, whole lines only.
    private static func sharedEnds(_ old: [UInt8], _ new: [UInt8]) -> (start: Int, end: Int) {
        let shorter = min(old.count, new.count)
        var start = 0
        while start < shorter, old[start] == new[start] { start += 1 }
        if start < old.count || start < new.count {
            while start > 0, old[start - 1] != 0x0A { start -= 1 }
        }
        var end = 0
        while end < shorter - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
        // Only what follows a line feed that both have begins a line in both.
        var first = old.count - end
        while first < old.count, old[first] != 0x0A { first += 1 }
        return (start, max(0, old.count - first - 1))
    }

    /// Differences that are so close that their context would touch, together.
    private static func joined(_ groups: [LineDiff.Hunk], context: Int, within texts: Texts) -> [[LineDiff.Hunk]] {
        var result: [[LineDiff.Hunk]] = []
        for group in groups {
            if let last = result.last?.last, group.old.lowerBound - last.old.upperBound <= 2 * context {
                result[result.count - 1].append(group)
            } else {
                result.append([group])
            }
        }
        return result
    }

    /// Lines next to the part that differs.
    private struct EqualLines {
        var lines: [ArraySlice<UInt8>] = []
        /// Lines further away from it.
        var skipped = 0

        /// The last lines of the first `end` bytes.
        init(_ text: [UInt8], upTo end: Int, last count: Int) {
            var (position, lineEnd) = (end, end)
            while position > 0, lines.count < count {
                position -= 1
                if position == 0 || text[position - 1] == 0x0A {
                    lines.append(text[position..<lineEnd])
                    lineEnd = position
                }
            }
            lines.reverse()
            skipped = text[..<lineEnd].count { $0 == 0x0A }
        }

        /// The first lines from a position on.
        init(_ text: [UInt8], from start: Int, first count: Int) {
            var (position, lineStart) = (start, start)
            while position < text.count, lines.count < count {
                position += 1
                if position == text.count || text[position - 1] == 0x0A {
                    lines.append(text[lineStart..<position])
                    lineStart = position
                }
            }
        }
    }

    /// The parts that differ, with what lies around them.
    private struct Texts {
        let old: [ArraySlice<UInt8>]
        let new: [ArraySlice<UInt8>]
        let before: [ArraySlice<UInt8>]
        let behind: [ArraySlice<UInt8>]
        /// Lines ahead of `before`.
        let skipped: Int

        /// A line of the old text, where equal lines are the same in both; counted from the part that differs.
        private func equal(_ index: Int) -> ArraySlice<UInt8>? {
            if index < 0 { return before.count + index >= 0 ? before[before.count + index] : nil }
            if index < old.count { return old[index] }
            return index - old.count < behind.count ? behind[index - old.count] : nil
        }

        func hunk(_ groups: [LineDiff.Hunk], context: Int) -> DiffHunk {
            let first = groups[0]
            let shift = skipped + before.count
            var result = DiffHunk(
                oldStart: shift + first.old.lowerBound, oldCount: 0, newStart: shift + first.new.lowerBound,
                newCount: 0, lines: [])
            func add(_ kind: DiffLine.Kind, _ bytes: ArraySlice<UInt8>) {
                result.lines.append(DiffLine(kind: kind, bytes: bytes))
                if kind != .added { result.oldCount += 1 }
                if kind != .removed { result.newCount += 1 }
            }
            for distance in stride(from: context, to: 0, by: -1) {
                guard let line = equal(first.old.lowerBound - distance) else { continue }
                add(.context, line)
                result.oldStart -= 1
                result.newStart -= 1
            }
            var position = first.old.lowerBound
            for group in groups {
                while position < group.old.lowerBound {
                    add(.context, old[position])
                    position += 1
                }
                for index in group.old { add(.removed, old[index]) }
                for index in group.new { add(.added, new[index]) }
                position = group.old.upperBound
            }
            for distance in 0..<context {
                guard let line = equal(position + distance) else { break }
                add(.context, line)
            }
            return result
        }
    }
}
