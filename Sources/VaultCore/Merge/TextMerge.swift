internal import VaultFormat

/// Merges two changed copies of a text line by line.
enum TextMerge {
    /// Texts up to this size are merged; more would not be read by a person either.
    static let sizeLimit = 8 << 20

    /// Texts of more lines are not merged: that takes too long, and too much memory.
    private static let lineLimit = 500_000

    /// Whether bytes are text: UTF-8 without NUL (spec 05 §8).
    static func isText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }

    /// The text with the changes of both sides, or nil where they changed the same lines, or lines that touch,
    /// differently.
    ///
    /// * `union`: Where they did, take the lines of both, ours first.
    /// - Returns: Nil also for texts of too many lines.
    static func merge(base: [UInt8], ours: [UInt8], theirs: [UInt8], union: Bool = false) -> [UInt8]? {
        var table = LineTable()
        let (baseLines, baseNumbers) = table.lines(of: base)
        let (ourLines, ourNumbers) = table.lines(of: ours)
        let (theirLines, theirNumbers) = table.lines(of: theirs)
        guard max(baseLines.count, ourLines.count, theirLines.count) <= lineLimit else { return nil }
        let our = LineDiff.hunks(baseNumbers, ourNumbers)
        let their = LineDiff.hunks(baseNumbers, theirNumbers)
        var result: [UInt8] = []
        result.reserveCapacity(max(ours.count, theirs.count))
        var position = 0
        func copy(_ lines: ArraySlice<ArraySlice<UInt8>>) { for line in lines { result += line } }
        var (left, right) = (0, 0)
        while left < our.count || right < their.count {
            // All changes of both sides that overlap or touch are one.
            var (ourEnd, theirEnd) = (left, right)
            let start = min(
                left < our.count ? our[left].old.lowerBound : .max,
                right < their.count ? their[right].old.lowerBound : .max)
            var end = start
            while true {
                if ourEnd < our.count, our[ourEnd].old.lowerBound <= end {
                    end = max(end, our[ourEnd].old.upperBound)
                    ourEnd += 1
                } else if theirEnd < their.count, their[theirEnd].old.lowerBound <= end {
                    end = max(end, their[theirEnd].old.upperBound)
                    theirEnd += 1
                } else {
                    break
                }
            }
            copy(baseLines[position..<start])
            position = end
            let changed = ourLines[range(our[left..<ourEnd], start..<end, before: left == 0 ? nil : our[left - 1])]
            let other = theirLines[
                range(their[right..<theirEnd], start..<end, before: right == 0 ? nil : their[right - 1])]
            if left == ourEnd {
                copy(other)
            } else if right == theirEnd || changed.elementsEqual(other, by: { $0.elementsEqual($1) }) {
                copy(changed)
            } else if union {
                copy(changed)
                // Two lines are not to become one.
                if let last = result.last, last != UInt8(ascii: "\n"), !other.isEmpty {
                    result.append(UInt8(ascii: "\n"))
                }
                copy(other)
            } else {
                return nil
            }
            (left, right) = (ourEnd, theirEnd)
        }
        copy(baseLines[position...])
        return result
    }

    /// The lines of a changed text that stand for a range of the base.
    ///
    /// * `hunks`: The changes within the range.
    /// * `before`: The last change before it.
    private static func range(
        _ hunks: ArraySlice<LineDiff.Hunk>, _ base: Range<Int>, before: LineDiff.Hunk?
    ) -> Range<Int> {
        guard let first = hunks.first, let last = hunks.last else {
            let shift = before.map { $0.new.upperBound - $0.old.upperBound } ?? 0
            return base.lowerBound + shift..<base.upperBound + shift
        }
        let start = first.new.lowerBound - (first.old.lowerBound - base.lowerBound)
        return start..<last.new.upperBound + (base.upperBound - last.old.upperBound)
    }
}
