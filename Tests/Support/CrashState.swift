internal import VaultSystem

/// What a crash at one moment can leave: the durable state, and the changes since, in their order.
package struct CrashState: Sendable {
    /// What a new number stands for.
    enum NewNode: Sendable {
        case file(mode: UInt32)
        case directory(mode: UInt32)
    }

    /// A name that comes to stand for a file or folder, or for nothing.
    struct NameChange: Sendable {
        var directory: UInt64
        var name: [UInt8]
        var target: UInt64?
    }

    enum Change: Sendable {
        case create(UInt64, NewNode)
        case names([NameChange])
        case write(UInt64, offset: Int, bytes: [UInt8])
        case truncate(UInt64, size: Int)

        /// The file whose content it changes.
        var content: UInt64? {
            switch self {
            case .write(let inode, _, _), .truncate(let inode, _): inode
            case .create, .names: nil
            }
        }

        /// The folders whose names it changes.
        var directories: [UInt64] {
            if case .names(let changes) = self { changes.map(\.directory) } else { [] }
        }
    }

    /// What becomes of a change.
    package enum Fate: UInt8, Sendable, CaseIterable {
        case lost, kept
        /// Of a write only: half of its bytes, or zeros.
        case halved, zeroed
    }

    private let start: InMemoryFileSystem
    private var durable: [UInt64: InMemoryTree.Node]
    var pending: [Change] = []

    init(_ start: InMemoryFileSystem) {
        // A copy that nobody changes, for its clock and counters.
        self.start = start.afterKill()
        durable = start.tree.withLock { $0.nodes }
    }

    /// Changes whose fate is open.
    package var choices: Int { pending.count { if case .create = $0 { false } else { true } } }

    /// Whether the open change at a position is a write, which has more fates than others.
    package var isWrite: [Bool] {
        pending.compactMap { change in
            switch change {
            case .create: nil
            case .write: true
            default: false
            }
        }
    }

    /// A file or folder exists from its first durable name or content on.
    mutating func makeDurable(_ isMeant: (Change) -> Bool) {
        var rest: [Change] = []
        for change in pending {
            if case .create(let inode, let node) = change {
                // It stays in the list as long as anything of it is pending, and does no harm there.
                Self.create(inode, node, in: &durable)
            } else if isMeant(change) {
                Self.apply(change, .kept, to: &durable)
            } else {
                rest.append(change)
            }
        }
        pending = rest
    }

    private static func create(_ inode: UInt64, _ node: NewNode, in nodes: inout [UInt64: InMemoryTree.Node]) {
        guard nodes[inode] == nil else { return }
        let content: InMemoryTree.Node.Content
        let bits: UInt32
        switch node {
        case .file(let mode): (content, bits) = (.file([]), mode)
        case .directory(let mode): (content, bits) = (.directory([:]), mode)
        }
        nodes[inode] = InMemoryTree.Node(content: content, mode: bits, modifiedNs: 1, changedNs: 1)
    }

    private static func apply(_ change: Change, _ fate: Fate, to nodes: inout [UInt64: InMemoryTree.Node]) {
        if fate == .lost { return }
        switch change {
        case .create: break
        case .names(let changes):
            for change in changes {
                guard var entries = nodes[change.directory]?.entries else { continue }
                entries[change.name] = change.target
                nodes[change.directory]?.content = .directory(entries)
            }
        case .truncate(let inode, let size):
            guard var bytes = nodes[inode]?.bytes else { return }
            bytes = Array(bytes.prefix(size))
            nodes[inode]?.content = .file(bytes)
        case .write(let inode, let offset, let written):
            guard var bytes = nodes[inode]?.bytes else { return }
            let kept = fate == .halved ? Array(written.prefix(written.count / 2)) : written
            let end = offset + kept.count
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            if fate != .zeroed { bytes.replaceSubrange(offset..<end, with: kept) }
            nodes[inode]?.content = .file(bytes)
        }
    }

    /// What a crash leaves when each open change has the fate given, in the order of the changes.
    package func afterCrash(_ fates: [Fate]) -> InMemoryFileSystem {
        var nodes = durable
        var position = 0
        for change in pending {
            if case .create(let inode, let node) = change {
                Self.create(inode, node, in: &nodes)
                continue
            }
            Self.apply(change, position < fates.count ? fates[position] : .lost, to: &nodes)
            position += 1
        }
        let result = start.afterKill()
        let kept = nodes
        result.tree.withLock { tree in
            tree.nodes = kept
            tree.nextInode = max(tree.nextInode, (kept.keys.max() ?? 0) + 1)
        }
        // Counts names and handles anew and forgets what has no name.
        return result.afterKill()
    }
}
