internal import VaultCore
internal import VaultFormat

/// How differences are told.
struct DiffStyle {
    enum Form { case patch, nameOnly, nameStatus, zeroOnly, zeroStatus }

    /// Nil where only the statistics are told.
    var form: Form?
    var showsStat = false
    var hashesBinary = false

    /// How far a comparison has to look for it.
    var detail: DiffOptions.Detail {
        showsStat || form == .patch ? .content : .names
    }
}

/// Tells differences one after the other.
final class DiffTeller {
    private let text: TextRenderer
    private let lines: Lines
    private let style: DiffStyle
    private var stat = DiffStat()

    /// The number of files told.
    private(set) var count = 0

    init(_ text: TextRenderer, _ lines: Lines, _ style: DiffStyle) {
        self.text = text
        self.lines = lines
        self.style = style
    }

    /// Tells all differences that `give` hands on.
    ///
    /// Statistics stand first, so they take a look of their own where patches follow: nothing is kept but a line a file.
    func tell(_ give: ((FileDiff) throws -> Bool) throws -> Void) throws {
        if style.showsStat {
            stat = DiffStat()
            try give { file in
                try text.call.checkStop()
                stat.add(file)
                return true
            }
            count = stat.count
            guard stat.count > 0 else { return }
            try stat.write(to: lines, text)
            guard style.form == .patch else { return }
            try lines.line("")
        }
        count = 0
        try give { file in
            try text.call.checkStop()
            count += 1
            try tell(file)
            return true
        }
    }

    private func tell(_ file: FileDiff) throws {
        switch style.form {
        case nil: return
        case .patch:
            try file.writePatch(hashesBinary: style.hashesBinary) { line in
                try lines.line(line.bytes, line.kind.tone)
            }
        case .nameOnly: try lines.line(String(decoding: TextSafety.path(file.path.bytes), as: UTF8.self))
        case .nameStatus:
            let mark = try text.coloured(file.status.mark, file.status.tone)
            let paths = [file.oldPath, file.path].compactMap { $0 }.map {
                String(decoding: TextSafety.path($0.bytes), as: UTF8.self)
            }
            try lines.line("\(mark) \(paths.joined(separator: " -> "))")
        case .zeroOnly: try text.call.output.write(file.path.bytes + [0])
        case .zeroStatus:
            let old = file.oldPath.map { $0.bytes + [0] } ?? []
            try text.call.output.write(Array("\(file.status.mark) ".utf8) + file.path.bytes + [0] + old)
        }
    }
}

extension PatchLine.Kind {
    /// The colour of a line of a patch.
    fileprivate var tone: Colour.Tone? {
        switch self {
        case .header: .strong
        case .hunk: .id
        case .context, .marker: nil
        case .removed: .bad
        case .added: .good
        }
    }
}

extension FileDiff.Status {
    /// The letter that stands for it.
    var mark: String {
        switch self {
        case .added: "A"
        case .modified: "M"
        case .deleted: "D"
        case .renamed: "R"
        }
    }

    /// Its colour.
    var tone: Colour.Tone {
        switch self {
        case .added: .good
        case .modified, .renamed: .changed
        case .deleted: .bad
        }
    }
}

extension FileDiff {
    /// One of `files[]`.
    ///
    /// * `withPatch`: Otherwise `patch` is null.
    func jsonValue(withPatch: Bool) -> JSONValue {
        var text: JSONValue = .null
        if withPatch, case .text = content { text = .name(patch) }
        return .record([
            "path": .path(path),
            "status": .string(status.rawValue),
            "old_path": oldPath.map { .path($0) } ?? .null,
            "binary": content == .notRead ? .null : .bool(content == .binary),
            "too_large": content == .notRead ? .null : .bool(content == .tooLarge),
            "size_before": .optional(before?.size),
            "size_after": .optional(after?.size),
            "sha256_before": .optional(before?.sha256),
            "sha256_after": .optional(after?.sha256),
            "lines_added": .optional(linesAdded),
            "lines_removed": .optional(linesRemoved),
            "patch": text,
        ])
    }
}
