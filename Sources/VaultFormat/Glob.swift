/// A shell pattern as Python's `fnmatch` reads it: `*`, `?`, `[…]`, on code points, without escapes.
///
/// Matching takes at most the product of the lengths of pattern and text.
struct Glob: Sendable {
    private enum Element: Sendable {
        case scalar(UInt32)
        case any
        case set(ScalarSet)
        /// Any run of scalars; there are never two in a row.
        case star

        func matches(_ scalar: UInt32) -> Bool {
            switch self {
            case .scalar(let value): value == scalar
            case .any: true
            case .set(let set): set.contains(scalar)
            case .star: false
            }
        }

        var isStar: Bool { if case .star = self { true } else { false } }
    }

    private let elements: [Element]
    private let minimumLength: Int

    init(_ pattern: [UInt32]) {
        var elements: [Element] = []
        var index = 0
        // Without this a pattern of many `[` would look for its end again and again.
        let lastBracket = pattern.lastIndex(of: 0x5D) ?? -1
        while index < pattern.count {
            switch pattern[index] {
            case 0x2A:
                if elements.last?.isStar != true { elements.append(.star) }
                index += 1
            case 0x3F:
                elements.append(.any)
                index += 1
            case 0x5B:
                if let end = Self.endOfSet(pattern, from: index + 1, last: lastBracket) {
                    elements.append(.set(ScalarSet(pattern[(index + 1)..<end])))
                    index = end + 1
                } else {
                    elements.append(.scalar(0x5B))
                    index += 1
                }
            default:
                elements.append(.scalar(pattern[index]))
                index += 1
            }
        }
        self.elements = elements
        minimumLength = elements.count { !$0.isStar }
    }

    private static func endOfSet(_ pattern: [UInt32], from start: Int, last: Int) -> Int? {
        var index = start
        if index < pattern.count, pattern[index] == 0x21 { index += 1 }
        if index < pattern.count, pattern[index] == 0x5D { index += 1 }
        guard index <= last else { return nil }
        return pattern[index...].firstIndex(of: 0x5D)
    }

    /// The text itself when the pattern is one, without wildcards.
    var literal: [UInt32]? {
        var result: [UInt32] = []
        for element in elements {
            guard case .scalar(let value) = element else { return nil }
            result.append(value)
        }
        return result
    }

    /// Whether the whole of `text` matches.
    func matches(_ text: ArraySlice<UInt32>) -> Bool {
        guard text.count >= minimumLength else { return false }
        var position = text.startIndex
        var element = 0
        var retry: (element: Int, position: Int)?
        while position < text.endIndex {
            if element < elements.count, elements[element].isStar {
                element += 1
                retry = (element, position)
            } else if element < elements.count, elements[element].matches(text[position]) {
                element += 1
                position += 1
            } else if let (resumed, start) = retry {
                // The star takes one scalar more; no earlier star can do better.
                retry = (resumed, start + 1)
                element = resumed
                position = start + 1
            } else {
                return false
            }
        }
        while element < elements.count, elements[element].isStar { element += 1 }
        return element == elements.count
    }

    /// Whether `text`, or what follows one of its slashes, matches as a whole: all tails in one pass.
    func matchesTail(_ text: ArraySlice<UInt32>) -> Bool {
        // States that the pattern may be in, one per element; a new run starts at every segment.
        var active = [Bool](repeating: false, count: elements.count + 1)
        start(&active)
        for position in text.indices {
            let scalar = text[position]
            for state in stride(from: elements.count, through: 0, by: -1) {
                let isHere = active[state]
                active[state] = isHere && state < elements.count && elements[state].isStar
                if isHere, state < elements.count, elements[state].matches(scalar) { active[state + 1] = true }
            }
            skipStars(&active)
            if scalar == 0x2F { start(&active) }
        }
        return active[elements.count]
    }

    private func start(_ active: inout [Bool]) {
        active[0] = true
        skipStars(&active)
    }

    /// A star may take nothing.
    private func skipStars(_ active: inout [Bool]) {
        for state in elements.indices where active[state] && elements[state].isStar { active[state + 1] = true }
    }
}

/// The scalars between `[` and `]` of a pattern.
private struct ScalarSet: Sendable {
    private let ranges: [ClosedRange<UInt32>]
    private let isNegated: Bool

    init(_ body: ArraySlice<UInt32>) {
        var ranges: [ClosedRange<UInt32>] = []
        var members = body
        // A range that holds nothing does not count, so that `[z-a!b]` is `[!b]`.
        while members.first != 0x21, Self.isEmptyRange(members) { members = members.dropFirst(3) }
        isNegated = members.first == 0x21
        if isNegated { members = members.dropFirst() }
        var index = members.startIndex
        // A hyphen makes a range unless it comes first, last, or right after a range.
        while index < members.endIndex {
            if index + 2 < members.endIndex, members[index + 1] == 0x2D {
                if members[index] <= members[index + 2] { ranges.append(members[index]...members[index + 2]) }
                index += 3
            } else {
                ranges.append(members[index]...members[index])
                index += 1
            }
        }
        self.ranges = Self.merged(ranges)
    }

    private static func isEmptyRange(_ members: ArraySlice<UInt32>) -> Bool {
        let head = Array(members.prefix(3))
        return head.count == 3 && head[1] == 0x2D && head[0] > head[2]
    }

    private static func merged(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var result: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }

    func contains(_ scalar: UInt32) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar { low = middle + 1 } else { high = middle }
        }
        return (low < ranges.count && ranges[low].contains(scalar)) != isNegated
    }
}
