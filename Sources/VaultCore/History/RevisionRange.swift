internal import VaultFormat

/// `A..B` or `A...B` as it was typed (spec 10 A.6, B.12).
struct RevisionRange {
    var left: String
    var right: String
    /// `A...B`: from the merge base of the two.
    var isFromBase: Bool

    /// Takes a range apart; nil for a word that is none.
    ///
    /// * `remotes`: Their names; otherwise a word with a slash is never a range.
    init?(_ text: String, remotes: [String]) {
        let plain = remotes.reduce(text) { $0.replacing($1 + "/", with: "") }
        guard !plain.contains("/"), let dots = text.firstRange(of: "..") else { return nil }
        isFromBase = text[dots.upperBound...].hasPrefix(".")
        left = String(text[..<dots.lowerBound])
        right = String(text[dots.upperBound...].dropFirst(isFromBase ? 1 : 0))
        if left.isEmpty { left = "HEAD" }
        if right.isEmpty { right = "HEAD" }
    }
}

extension RevisionResolver {
    /// The two commits of a range; nil for a word that is none.
    ///
    /// `A..B` gives both ends, `A...B` their merge base and B.
    func range(_ text: String) throws(VaultError) -> (from: ObjectID, to: ObjectID)? {
        let names = text.contains("/") ? try vault.savedRemotes().map(\.name) + [Vault.originName] : []
        guard let range = RevisionRange(text, remotes: names) else { return nil }
        let from = try resolve(range.left)
        let to = try resolve(range.right)
        guard range.isFromBase else { return (from, to) }
        guard let base = try graph.mergeBase(from, to) else {
            throw VaultError(.revisionNotFound, "'\(range.left)' and '\(range.right)' have no commit in common")
        }
        return (base, to)
    }
}
