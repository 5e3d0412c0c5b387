extension BranchIndex {
    /// Whose minimum client and features a merge keeps.
    public enum GateSource: Sendable {
        /// The server's, unless it has none: every ordinary write.
        case remote
        /// This side's: a write that is meant to change them.
        case local
    }

    /// One index from this clone's and the server's (02-objects §7, 06-packs-and-features §9).
    ///
    /// No branch is lost; for a branch in both the server's members win where they say something. The format never goes
    /// down. Per tag the later entry stands; `nowMs` is the time it is judged by.
    public static func merged(
        local: BranchIndex, remote: BranchIndex, nowMs: Int64, gate: GateSource = .remote
    ) -> BranchIndex {
        var index = BranchIndex()
        index.branches = mergedBranches(local.branches + remote.branches)
        index.unusableBranches = distinct(local.unusableBranches + remote.unusableBranches)
        let isRemoteSilent = remote.format == nil && remote.minClient.isNilOrEmpty && remote.features.isEmpty
        let isLocalGate = gate == .local || isRemoteSilent
        let source = isLocalGate ? local : remote
        index.minClient = source.minClient.isNilOrEmpty ? nil : source.minClient
        index.format = mergedFormat(local, remote, isLocalGate: isLocalGate)
        index.features = sortedFeatures(source.features, format: index.format)
        let entries = (local.tags + remote.tags).map(\.json) + local.carriedTags + remote.carriedTags
        let tags = TagResolution(entries, nowMs: nowMs)
        index.tags = tags.readable
        index.carriedTags = tags.carried
        index.unknownMembers = JSONMember.merged(local.unknownMembers, remote.unknownMembers)
        return index
    }

    /// This side's own number while its gate counts and the server works with no higher format; else the higher working
    /// format, and still none when neither side ever set one.
    private static func mergedFormat(_ local: BranchIndex, _ remote: BranchIndex, isLocalGate: Bool) -> Int? {
        let higher = max(local.workingFormat, remote.workingFormat)
        // A format that this version does not know is kept; nobody may write there (06 §1.3).
        if let unknown = [local.format, remote.format].compactMap({ $0 }).max(), unknown > 2 { return unknown }
        if isLocalGate, local.workingFormat == higher { return local.format }
        return local.format == nil && remote.format == nil ? nil : higher
    }

    /// Features without repetition, sorted; `ids-128` goes with long ids.
    package static func sortedFeatures(_ features: [String], format: Int?) -> [String] {
        var all = Set(features)
        if let format, format >= 2 { all.insert(Feature.longIDs) }
        return all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func mergedBranches(_ records: [BranchRecord]) -> [BranchRecord] {
        var places: [BranchID: Int] = [:]
        var result: [BranchRecord] = []
        for record in records {
            if let place = places[record.branchID] {
                result[place].merge(record)
            } else {
                places[record.branchID] = result.count
                result.append(record)
            }
        }
        return result
    }

    private static func distinct(_ values: [JSONValue]) -> [JSONValue] {
        var seen = Set<[UInt8]>()
        return values.filter { seen.insert(JSONWriter.bytes($0, .canonical)).inserted }
    }

    /// This index without the branches that may not be sent to the server, and those branches.
    ///
    /// A named branch that the server does not have, and whose name another named branch there uses with another ref,
    /// stays here together with its clone branches.
    public func publishable(onto remote: BranchIndex) -> (index: BranchIndex, clashing: [BranchRecord]) {
        let known = Set(remote.branches.map(\.branchID))
        var taken: [String: RefID] = [:]
        for branch in remote.namedBranches where taken[branch.name] == nil { taken[branch.name] = branch.headRefID }
        let clashing = Set(
            namedBranches.filter { branch in
                guard !known.contains(branch.branchID), let ref = taken[branch.name] else { return false }
                return ref != branch.headRefID
            }.map(\.branchID))
        func stays(_ branch: BranchRecord) -> Bool {
            guard !known.contains(branch.branchID) else { return false }
            return clashing.contains(branch.branchID)
                || (branch.type == .clone && branch.creatorBranch.map(clashing.contains) == true)
        }
        var index = self
        index.branches.removeAll(where: stays)
        return (index, branches.filter(stays))
    }
}

extension String? {
    fileprivate var isNilOrEmpty: Bool { self?.isEmpty ?? true }
}
