/// One line of `.gitignore`, read as the reference does (03-clone-layout §6).
struct IgnorePattern: Sendable {
    private enum Form: Sendable {
        /// No slash: the last segment or the whole path.
        case name(Glob)
        /// The whole path.
        case path(Glob)
        /// `**/rest`: the path or what follows any of its slashes.
        case tail(Glob)
        /// `prefix/**`: the folder itself and all below it, literally.
        case below([UInt32])
        /// `before**after`: the path begins with `before`, and a tail of the rest matches `after`.
        case between([UInt32], Glob)
    }

    let line: Int
    let text: String
    let isNegated: Bool
    let isFolderOnly: Bool
    private let form: Form

    /// Reads a line; nil when it holds no pattern.
    init?(line: [UInt8], number: Int) {
        let trimmed = line[UTF8Text.stripped(line.span)]
        guard let first = trimmed.first, first != 0x23 else { return nil }
        self.line = number
        text = String(decoding: trimmed, as: UTF8.self)
        isNegated = first == 0x21
        var pattern = UTF8Text.scalars(Array(isNegated ? trimmed.dropFirst() : trimmed).span)[...]
        isFolderOnly = pattern.last == 0x2F
        while pattern.last == 0x2F { pattern.removeLast() }
        if pattern.first == 0x2F { pattern.removeFirst() }
        form = Self.form(Array(pattern))
    }

    private static func form(_ pattern: [UInt32]) -> Form {
        guard pattern.contains(0x2F) else { return .name(Glob(pattern)) }
        let stars: [UInt32] = [0x2A, 0x2A]
        guard let double = pattern.indices.dropLast().first(where: { pattern[$0...].starts(with: stars) }) else {
            return .path(Glob(pattern))
        }
        if pattern.starts(with: stars + [0x2F]) { return .tail(Glob(Array(pattern.dropFirst(3)))) }
        if pattern.suffix(3).elementsEqual([0x2F] + stars) { return .below(Array(pattern.dropLast(3))) }
        var after = pattern[(double + 2)...]
        while after.first == 0x2F { after.removeFirst() }
        return .between(Array(pattern[..<double]), Glob(Array(after)))
    }

    /// The name, when the pattern is one without wildcards.
    var plainName: [UInt32]? {
        if case .name(let glob) = form { glob.literal } else { nil }
    }

    /// Whether the pattern fits a path whose last segment begins at `nameStart`.
    func matches(_ path: [UInt32], nameStart: Int, isFolder: Bool) -> Bool {
        if isFolderOnly, !isFolder { return false }
        switch form {
        case .name(let glob): return glob.matches(path[nameStart...]) || glob.matches(path[...])
        case .path(let glob): return glob.matches(path[...])
        case .tail(let glob): return glob.matchesTail(path[...])
        case .below(let prefix):
            return path.starts(with: prefix) && (path.count == prefix.count || path[prefix.count] == 0x2F)
        case .between(let before, let glob):
            return path.starts(with: before) && glob.matchesTail(path[before.count...])
        }
    }
}
