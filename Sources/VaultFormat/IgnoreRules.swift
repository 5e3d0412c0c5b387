/// Which untracked files and folders a vault leaves alone (03-clone-layout §6): built-in names and the root's `.gitignore`,
/// in the reference's reading of it, not git's.
package struct IgnoreRules: Sendable {
    /// Why something is ignored.
    package enum Reason: Equatable, Sendable {
        /// The path has a protected segment; holds for tracked paths as well.
        case protectedPath
        /// A file that usually holds credentials.
        case secretName
        /// A folder that tools fill.
        case toolFolder
        /// A line of `.gitignore`, counted from 1.
        case pattern(line: Int, text: String)
    }

    private let patterns: [IgnorePattern]
    /// For patterns that are plain names: the last one of that name, as a place in `patterns`.
    private let lastByName: [[UInt32]: Int]
    private let lastByFolderName: [[UInt32]: Int]
    /// Places of all other patterns.
    private let others: [Int]

    /// Reads the content of the `.gitignore` in the vault's root; nil when there is none.
    ///
    /// - Throws: `.malformed` when it is not UTF-8, `.limitExceeded` when it is larger than 1 MiB.
    package init(gitignore: [UInt8]?) throws(FormatError) {
        let content = gitignore ?? []
        guard content.count <= Limits.ignoreFile else { throw .limit(".gitignore is larger than 1 MiB") }
        guard UTF8Text.isValid(content.span) else { throw .malformed(".gitignore is not UTF-8") }
        var patterns: [IgnorePattern] = []
        for (index, line) in content.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if let pattern = IgnorePattern(line: Array(line), number: index + 1) { patterns.append(pattern) }
        }
        var byName: [[UInt32]: Int] = [:]
        var byFolderName: [[UInt32]: Int] = [:]
        var others: [Int] = []
        for (place, pattern) in patterns.enumerated() {
            guard let name = pattern.plainName else {
                others.append(place)
                continue
            }
            byFolderName[name] = place
            if !pattern.isFolderOnly { byName[name] = place }
        }
        self.patterns = patterns
        lastByName = byName
        lastByFolderName = byFolderName
        self.others = others
    }

    /// The lines of `.gitignore` that say something, counted from 1.
    package var lines: [(number: Int, text: String)] { patterns.map { ($0.line, $0.text) } }

    /// Names of files and of folders that are ignored without any line, and of files that are not in spite of their
    /// beginning.
    package static var builtIn: (files: [String], folders: [String], exceptions: [String]) {
        func sorted(_ names: Set<[UInt8]>) -> [String] { names.map { String(decoding: $0, as: UTF8.self) }.sorted() }
        return (
            sorted(BuiltInRules.secretFiles) + [".env*"], sorted(BuiltInRules.toolFolders) + [".sg_vault_old_*"],
            sorted(BuiltInRules.sampleFiles)
        )
    }

    /// Whether an untracked file is left alone; `path` is its whole path in the vault.
    package func ignoresFile(_ path: [UInt8]) -> Bool { reasonForFile(path) != nil }

    /// Whether a folder without tracked files is left alone with all that is in it.
    package func ignoresFolder(_ path: [UInt8]) -> Bool { reasonForFolder(path) != nil }

    /// Why an untracked file is left alone; nil when it is not.
    package func reasonForFile(_ path: [UInt8]) -> Reason? {
        if PathGuard.isProtected(path.span) { return .protectedPath }
        if BuiltInRules.isSecretFile(Self.lastSegment(path)) { return .secretName }
        return patternReason(path, isFolder: false)
    }

    /// Why a folder is left alone; nil when it is not.
    package func reasonForFolder(_ path: [UInt8]) -> Reason? {
        if PathGuard.isProtected(path.span) { return .protectedPath }
        if BuiltInRules.isToolFolder(Self.lastSegment(path)) { return .toolFolder }
        return patternReason(path, isFolder: true)
    }

    private static func lastSegment(_ path: [UInt8]) -> ArraySlice<UInt8> {
        path[(path.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0)...]
    }

    /// The last pattern that matches decides.
    private func patternReason(_ path: [UInt8], isFolder: Bool) -> Reason? {
        guard !patterns.isEmpty else { return nil }
        let text = UTF8Text.scalars(path.span)
        let nameStart = text.lastIndex(of: 0x2F).map { $0 + 1 } ?? 0
        let name = Array(text[nameStart...])
        var found = (isFolder ? lastByFolderName : lastByName)[name] ?? -1
        for place in others.reversed() {
            if place < found { break }
            if patterns[place].matches(text, nameStart: nameStart, isFolder: isFolder) {
                found = place
                break
            }
        }
        guard found >= 0, !patterns[found].isNegated else { return nil }
        return .pattern(line: patterns[found].line, text: patterns[found].text)
    }
}

/// The names that are ignored without any pattern.
enum BuiltInRules {
    static func isSecretFile(_ name: ArraySlice<UInt8>) -> Bool {
        if secretFiles.contains(Array(name)) { return true }
        return name.starts(with: ".env".utf8) && !sampleFiles.contains(Array(name))
    }

    static func isToolFolder(_ name: ArraySlice<UInt8>) -> Bool {
        toolFolders.contains(Array(name)) || name.starts(with: ".sg_vault_old_".utf8)
    }

    private static func set(_ names: String) -> Set<[UInt8]> {
        Set(names.utf8.split(separator: 0x20).map { Array($0) })
    }

    static let secretFiles = set(
        ".env .env.local .env.production .env.development .netrc .pgpass .git-credentials id_rsa id_ed25519 id_ecdsa "
            + "id_dsa .npmrc .pypirc")

    static let sampleFiles = set(".env.example .env.sample .env.template")

    static let toolFolders = set(
        ".sg_vault .sg_vault_new .git .github node_modules __pycache__ .venv .tox .nox .eggs .mypy_cache "
            + ".pytest_cache .ruff_cache .idea .vscode .cache .parcel-cache .next .nuxt .terraform .svelte-kit .turbo "
            + ".DS_Store .AppleDouble")
}
