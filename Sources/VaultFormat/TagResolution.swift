/// Which entry stands for each tag when several do (02-objects §10).
struct TagResolution {
    private(set) var readable: [TagEntry] = []
    private(set) var carried: [JSONValue] = []

    /// Decides between `entries`.
    ///
    /// Per name the greatest stands by (not dated more than 24 h after `nowMs`, time, tag id, deleted, JSON text). An
    /// entry whose time cannot be compared stands beside it, and both are then carried, that one first.
    init(_ entries: [JSONValue], nowMs: Int64) {
        let (sum, overflowed) = nowMs.addingReportingOverflow(Limits.tagClockSkewMs)
        let horizon = overflowed ? Int64.max : sum
        var groups: [[UInt8]: Group] = [:]
        for value in entries {
            let candidate = Candidate(value, horizon: horizon)
            groups[candidate.group, default: Group()].add(candidate)
        }
        var kept: [Candidate] = []
        for group in groups.values {
            let candidates = group.standing
            if candidates.count == 1, let candidate = candidates.first, let entry = TagEntry(candidate.value) {
                readable.append(entry)
            } else {
                kept.append(contentsOf: candidates)
            }
        }
        readable.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        kept.sort { left, right in
            if left.name != right.name { return left.name.lexicographicallyPrecedes(right.name) }
            if left.isComparable != right.isComparable { return right.isComparable }
            return left.canonical.lexicographicallyPrecedes(right.canonical)
        }
        carried = kept.map { $0.value.membersSorted }
    }

    private struct Group {
        var best: Candidate?
        var incomparable: [[UInt8]: Candidate] = [:]

        mutating func add(_ candidate: Candidate) {
            guard candidate.isComparable else {
                incomparable[candidate.canonical] = candidate
                return
            }
            if let best, !best.isLess(than: candidate) { return }
            best = candidate
        }

        var standing: [Candidate] {
            Array(incomparable.values) + (best.map { [$0] } ?? [])
        }
    }

    private struct Candidate {
        let value: JSONValue
        let canonical: [UInt8]
        /// What entries of one tag have in common; every entry that is no object stands for itself.
        let group: [UInt8]
        let name: [UInt8]
        /// Nil when the time is not a number that can be compared.
        let timestamp: Int64?
        var isComparable: Bool { timestamp != nil }
        let isTimely: Bool
        let tagID: [UInt8]
        let isDeleted: Bool

        init(_ value: JSONValue, horizon: Int64) {
            self.value = value
            canonical = JSONWriter.bytes(value, .canonical)
            guard case .object = value else {
                (group, name, timestamp, isTimely, tagID, isDeleted) = ([0] + canonical, [], nil, true, [], false)
                return
            }
            let nameValue = value["name"] ?? .null
            group = JSONWriter.bytes(nameValue, .canonical)
            name = Self.text(nameValue)
            timestamp = Self.timestamp(value["timestamp_ms"])
            isTimely = (timestamp ?? 0) <= horizon
            tagID = Self.text(value["tag_id"] ?? .null)
            isDeleted = Self.isTrue(value["deleted"] ?? .null)
        }

        func isLess(than other: Candidate) -> Bool {
            if isTimely != other.isTimely { return other.isTimely }
            if timestamp != other.timestamp { return (timestamp ?? 0) < (other.timestamp ?? 0) }
            if tagID != other.tagID { return tagID.lexicographicallyPrecedes(other.tagID) }
            if isDeleted != other.isDeleted { return other.isDeleted }
            return canonical.lexicographicallyPrecedes(other.canonical)
        }

        private static func text(_ value: JSONValue) -> [UInt8] {
            switch value {
            case .null: []
            case .string(let text): Array(text.utf8)
            default: JSONWriter.bytes(value, .canonical)
            }
        }

        private static func timestamp(_ value: JSONValue?) -> Int64? {
            switch value {
            case nil: 0
            case .integer(let time) where time >= 0: time
            case .number(let text) where text.utf8.allSatisfy({ (0x30...0x39).contains($0) }): Int64.max
            default: nil
            }
        }

        private static func isTrue(_ value: JSONValue) -> Bool {
            switch value {
            case .null, .bool(false), .integer(0): false
            case .string(let text): !text.isEmpty
            case .array(let items): !items.isEmpty
            case .object(let members): !members.isEmpty
            default: true
            }
        }
    }
}

extension JSONValue {
    /// The value with the members of every object in it sorted by name.
    var membersSorted: JSONValue {
        switch self {
        case .array(let items): .array(items.map(\.membersSorted))
        case .object(let members):
            .object(JSONWriter.sorted(members).map { JSONMember(name: $0.name, value: $0.value.membersSorted) })
        default: self
        }
    }
}
