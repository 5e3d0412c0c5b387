internal import VaultFormat
internal import VaultSystem

/// A file that differs between two states, before its content is read.
struct DiffItem: Sendable {
    var path: VaultPath
    /// The path before, for a renamed file.
    var oldPath: VaultPath?
    var old: DiffSide?
    var new: DiffSide?

    var status: FileDiff.Status {
        switch (old, new) {
        case (nil, _): .added
        case (_, nil): .deleted
        default: oldPath == nil ? .modified : .renamed
        }
    }
}

/// Finds deleted and new files with the same content: renamed ones.
struct RenamePairing {
    /// The content hash of a file of the working copy; nil when it is not there any more.
    let hashOfFile: (VaultPath) throws -> ContentHash?

    private struct Content: Hashable {
        var size: Int64
        var hash: ContentHash
    }

    /// Deleted files with the same content, by path, with those that were paired left out.
    private struct Gone {
        private var all: [(item: DiffItem, isTaken: Bool)] = []
        private var byName: [[UInt8]: [Int]] = [:]
        private var next = 0

        mutating func add(_ item: DiffItem) {
            byName[item.path.lastSegment, default: []].append(all.count)
            all.append((item, false))
        }

        /// One whose last name is the same if there is one, else the first.
        mutating func take(for path: VaultPath) -> DiffItem? {
            var found = byName[path.lastSegment]?.first { !all[$0].isTaken }
            if let index = found { byName[path.lastSegment]?.removeAll { $0 <= index } }
            if found == nil {
                while next < all.count, all[next].isTaken { next += 1 }
                found = next < all.count ? next : nil
            }
            guard let found else { return nil }
            all[found].isTaken = true
            return all[found].item
        }
    }

    /// The items, sorted by path, with each pair as one at the new path.
    func pair(_ items: [DiffItem]) throws -> [DiffItem] {
        var byBlob: [ObjectID: Gone] = [:]
        var byContent: [Content: Gone] = [:]
        var sizes: Set<Int64> = []
        for item in items where item.new == nil {
            guard let entry = item.old?.entry else { continue }
            if let hash = entry.contentHash {
                byContent[Content(size: entry.size, hash: hash), default: Gone()].add(item)
                sizes.insert(entry.size)
            } else {
                byBlob[entry.blobID, default: Gone()].add(item)
            }
        }
        guard !byBlob.isEmpty || !byContent.isEmpty else { return items }
        var taken: Set<VaultPath> = []
        var result: [DiffItem] = []
        for item in items {
            guard item.old == nil, let new = item.new else {
                result.append(item)
                continue
            }
            var found: DiffItem?
            switch new {
            case .blob(let entry):
                if let hash = entry.contentHash {
                    found = byContent[Content(size: entry.size, hash: hash)]?.take(for: item.path)
                } else {
                    found = byBlob[entry.blobID]?.take(for: item.path)
                }
            case .file(let status):
                // Only what may be somebody's content is read.
                if sizes.contains(status.size), let hash = try hashOfFile(item.path) {
                    found = byContent[Content(size: status.size, hash: hash)]?.take(for: item.path)
                }
            }
            guard let found else {
                result.append(item)
                continue
            }
            taken.insert(found.path)
            result.append(DiffItem(path: item.path, oldPath: found.path, old: found.old, new: new))
        }
        if !taken.isEmpty { result.removeAll { $0.new == nil && taken.contains($0.path) } }
        return result
    }
}
