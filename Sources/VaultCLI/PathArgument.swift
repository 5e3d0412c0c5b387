internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Turns paths as typed into paths of the vault (spec 10 B.12): relative to the current directory, `:/p` to the root.
struct PathArgument {
    private let root: FilePath
    /// The current directory below the root; empty at the root and outside the vault.
    private let prefix: [[UInt8]]
    private let fileSystem: any FileSystem

    init(call: Call, root: FilePath) {
        self.root = root
        let here = try? call.surroundings.vault.fileSystem.canonicalPath(call.workingDirectory)
        prefix = here.flatMap { Self.components(of: $0, below: root) } ?? []
        fileSystem = call.surroundings.vault.fileSystem
    }

    /// The path of the vault that was meant; nil for the root itself.
    /// - Throws: `usage` for an empty path, one outside the vault, and a name that no vault may hold.
    func path(_ typed: [UInt8]) throws -> VaultPath? {
        guard !typed.isEmpty else { throw Usage.error("a path is empty") }
        var components: [[UInt8]]
        if typed.starts(with: Array(":/".utf8)) {
            components = []
            try append(FilePath(bytes: Array(typed.dropFirst(2))).components, to: &components, typed)
        } else if typed.first == UInt8(ascii: "/") {
            guard let below = belowRoot(FilePath(bytes: typed).lexicalAbsolute(from: "/")) else { throw outside(typed) }
            components = below
        } else {
            guard prefix.first != NewVaultPlace.store else {
                throw Usage.error("paths start from the current directory, and .sg_vault holds none; cd out of it")
            }
            components = prefix
            try append(FilePath(bytes: typed).components, to: &components, typed)
        }
        guard !components.isEmpty else { return nil }
        do throws(FormatError) {
            return try VaultPath(Array(components.joined(separator: [UInt8(ascii: "/")])))
        } catch {
            // What is typed is the user's mistake, and no damage of the vault.
            guard error.code == .unsafePath else { throw tooLong() }
            throw Usage.error("\(TextSafety.quoted(typed)) can not be used: \(error.detail)")
        }
    }

    private func tooLong() -> VaultError {
        Usage.error("a path is longer than a vault can hold")
    }

    /// The paths that were meant; nil stands for the root, hence for everything.
    func paths(_ typed: [[UInt8]]) throws -> [VaultPath]? {
        var paths: [VaultPath] = []
        for word in typed {
            guard let path = try path(word) else { return nil }
            paths.append(path)
        }
        return paths
    }

    /// The path of a file, which the root is not.
    func file(_ typed: [UInt8]) throws -> VaultPath {
        guard let path = try path(typed) else { throw Usage.error("\(TextSafety.quoted(typed)) is the vault's root") }
        return path
    }

    /// How a path of the vault is typed from the current directory; a slash at its end stays.
    ///
    /// The answer can be given back as an argument: `./` stands before what would be taken for something else.
    func typed(_ path: [UInt8]) -> [UInt8] {
        let slash = [UInt8(ascii: "/")]
        let components = FilePath(bytes: path).components
        let shared = zip(components, prefix).prefix { $0 == $1 }.count
        let up = [[UInt8]](repeating: Array("..".utf8), count: prefix.count - shared)
        let end = path.last == slash.first ? slash : []
        let plain = Array((up + components[shared...]).joined(separator: slash))
        if plain.isEmpty { return Array(".".utf8) + end }
        let isOption = plain.first == UInt8(ascii: "-")
        let isFromRoot = plain.starts(with: Array(":/".utf8))
        let isKey = KeyText.kind(of: plain.span) != .unknown || Redaction.isBareKey(plain)
        return (isOption || isFromRoot || isKey ? Array("./".utf8) : []) + plain + end
    }

    private func append(_ more: [[UInt8]], to components: inout [[UInt8]], _ typed: [UInt8]) throws {
        for component in more {
            if component == Array(".".utf8) { continue }
            if component == Array("..".utf8) {
                guard components.popLast() != nil else { throw outside(typed) }
            } else {
                components.append(component)
            }
        }
    }

    /// An absolute path below the root, also when a link on the way to it was typed.
    private func belowRoot(_ path: FilePath) -> [[UInt8]]? {
        if let plain = Self.components(of: path, below: root) { return plain }
        guard let last = path.lastComponent, let folder = try? fileSystem.canonicalPath(path.parent) else { return nil }
        return Self.components(of: folder.appending(component: last), below: root)
    }

    private func outside(_ typed: [UInt8]) -> VaultError {
        Usage.error("\(TextSafety.quoted(typed)) lies outside the vault \(root.text)")
    }

    private static func components(of path: FilePath, below root: FilePath) -> [[UInt8]]? {
        let all = path.components
        let base = root.components
        guard all.starts(with: base) else { return nil }
        return Array(all.dropFirst(base.count))
    }
}
