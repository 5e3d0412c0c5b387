internal import VaultFormat
internal import VaultSystem

/// What a clone that was interrupted left, in the hands of a later one: the objects it had fetched are worth keeping.
///
/// Whoever has one holds its lock, so no other clone takes it for its own.
struct PartialClone: Sendable {
    /// The name that a leftover in its target itself has while another clone is built there.
    static let name = ".sg_vault_partial"
    /// The names within the private folder that a clone is built in.
    static let inner = "clone"
    static let lockName = "lock".bytes

    /// The objects; nil when there are none.
    let objects: (any Directory)?
    private let parent: any Directory
    private let name: [UInt8]
    private let lock: (any File)?

    /// Removes all of it.
    func remove() throws(Errno) {
        try parent.removeTree(name)
    }

    /// The private folders of clones to one place that died.
    ///
    /// * `prefix`: What their names begin with; twelve digits follow.
    static func abandoned(_ prefix: [UInt8], in parent: any Directory) throws(Errno) -> [PartialClone] {
        var found: [PartialClone] = []
        for entry in try parent.entries() where entry.name.starts(with: prefix) {
            guard entry.name.count == prefix.count + 12, try parent.status(of: entry.name).kind == .directory else {
                continue
            }
            let wrapper = try parent.openDirectory(entry.name)
            // In a folder that others write to, one that somebody else laid there is none of ours.
            guard try wrapper.status().isOwn else { continue }
            var lock: (any File)?
            if try wrapper.statusIfPresent(of: lockName)?.kind == .regular {
                lock = try wrapper.openForAppending(lockName, mode: 0o600)
                guard try lock?.lock(wait: false) == true else { continue }
            } else if try wrapper.holdsFiles() {
                continue
            }
            let vault = try wrapper.openIfPresent(inner)?.openIfPresent(CloneLayout.newText)
            found.append(
                PartialClone(objects: try objects(of: vault), parent: parent, name: entry.name, lock: lock))
        }
        return found
    }

    /// What was left in the target of a clone itself; nil while another command is at work there.
    ///
    /// - Throws: `notPermitted` for what another user left, `directoryNotEmpty` for what is of another program.
    static func taken(in root: any Directory) throws(Errno) -> [PartialClone]? {
        var found: [PartialClone] = []
        // A clone that was killed after the move left the first, which is gone on with before the name is used again.
        for left in [name, CloneLayout.newText] {
            guard let vault = try root.openIfPresent(left) else { continue }
            guard try vault.status().isOwn else { throw .notPermitted }
            let own = try vault.openIfPresent("local")?.openIfPresent("vaultctl")
            // A clone of ours has its lock before any other file.
            if own == nil, try vault.holdsFiles() { throw .directoryNotEmpty }
            let lock = try own?.openForAppending(lockName, mode: 0o600)
            if let lock, try !lock.lock(wait: false) { return nil }
            let objects = try objects(of: vault)
            if left == CloneLayout.newText {
                if let earlier = found.first { try earlier.mergeInto(objects) }
                try root.rename(left.bytes, to: root, as: name.bytes, replacing: false)
                found = []
            }
            found.append(PartialClone(objects: objects, parent: root, name: name.bytes, lock: lock))
        }
        return found
    }

    /// Moves the objects to those of a newer leftover, and removes the rest.
    private func mergeInto(_ newer: (any Directory)?) throws(Errno) {
        if let objects, let newer {
            for entry in try objects.entries() {
                try objects.rename(entry.name, to: newer, as: entry.name, replacing: true)
            }
        }
        try remove()
    }

    private static func objects(of vault: (any Directory)?) throws(Errno) -> (any Directory)? {
        try vault?.openIfPresent("bare")?.openIfPresent("data")
    }
}
