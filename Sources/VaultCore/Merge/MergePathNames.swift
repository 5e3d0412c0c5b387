internal import VaultFormat

/// The paths of a merge as they stand in the file that is shared with the reference, and in this program's own.
///
/// The shared one holds texts only: a path that is no UTF-8 has marks in place of the bytes that are none, and two such
/// paths may have one text. The own file has the bytes, and which of them were decided here.
struct MergePathNames {
    // By bytes: texts of one look are one text to `String ==`.
    private var exact: [[UInt8]: [VaultPath]] = [:]
    private var resolved: Set<VaultPath> = []

    /// * `own`: What this program recorded of the same merge; nil when it recorded nothing.
    init(_ own: JSONValue?) {
        guard let own else { return }
        for path in Set(Self.decoded(own["paths"])).sorted() {
            exact[Array(Self.text(path).utf8), default: []].append(path)
        }
        resolved = Set(Self.decoded(own["resolved"]))
    }

    /// The paths behind the names of both lists, each once; what stands in both needs a decision still.
    ///
    /// * `damaged`: Makes the error for a name that is no path.
    func paths(
        conflicts: [String], resolved decided: [String], _ damaged: (String) -> VaultError
    ) throws(VaultError) -> (conflicts: [VaultPath], resolved: [VaultPath]) {
        var open: Set<VaultPath> = []
        var done: Set<VaultPath> = []
        let counts = Dictionary(conflicts.map { (Array($0.utf8), 1) }, uniquingKeysWith: +)
        for name in Set(counts.keys).union(decided.map { Array($0.utf8) }) {
            guard let group = exact[name] else {
                let path: VaultPath
                do throws(FormatError) { path = try VaultPath(name) } catch { throw damaged(error.detail) }
                if counts[name] != nil { open.insert(path) } else { done.insert(path) }
                continue
            }
            // Of several paths with one name as many are open as the name is listed; where that is not what was
            // recorded here the other tool has decided some, and which is not known: all are asked for again.
            let known = group.filter { !resolved.contains($0) }
            switch counts[name] ?? 0 {
            case 0: done.formUnion(group)
            case known.count:
                open.formUnion(known)
                done.formUnion(group.filter { resolved.contains($0) })
            default: open.formUnion(group)
            }
        }
        return (open.sorted(), done.subtracting(open).sorted())
    }

    // MARK: Forms

    /// A path as the shared file has it.
    static func text(_ path: VaultPath) -> String { String(decoding: path.bytes, as: UTF8.self) }

    /// Paths as the own file has them.
    static func encoded(_ paths: [VaultPath]) -> JSONValue {
        .array(paths.map { .string(Base64.text($0.bytes.span)) })
    }

    /// Reads what `encoded` gave; what is no path is left out.
    static func decoded(_ value: JSONValue?) -> [VaultPath] {
        (value?.items ?? []).compactMap { item in
            item.text.flatMap { Base64.decode(Array($0.utf8).span) }.flatMap { try? VaultPath($0) }
        }
    }
}
