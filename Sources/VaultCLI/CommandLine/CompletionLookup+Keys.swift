internal import PKICore
internal import VaultCore

extension CompletionLookup {
    /// Labels that stand for one key, and the digits of all fingerprints: a colon would divide a word in some shells.
    ///
    /// Labels come from strangers: one that would be an option, or that no terminal should be shown, is left out.
    func keys(
        _ kind: CompletionKind, _ call: Call, _ words: [[UInt8]]
    ) throws -> [CompletionEngine.Candidate] {
        let store = try PkiStore(call).keys
        var known: [PublicIdentity] = []
        let isContact = words.contains(Array("--contact".utf8))
        if kind == .knownKey || isContact { known += try store.contacts().items }
        if kind == .knownKey || !isContact {
            known += try store.identities().items.map(\.identity).filter { own in
                !known.contains { $0.fingerprint == own.fingerprint }
            }
        }
        let labels = Dictionary(known.map { (Array($0.label.utf8), 1) }, uniquingKeysWith: +)
        let named = known.filter { identity in
            let label = Array(identity.label.utf8)
            return !label.isEmpty && label.first != UInt8(ascii: "-") && labels[label] == 1
                && identity.label.quotedForDisplay.utf8.elementsEqual(label)
        }
        return named.map { .init($0.label, $0.fingerprint.text) }
            + known.map { .init(String($0.fingerprint.text.dropFirst(prefixCount)), TextSafety.label($0.label)) }
    }

    /// The characters before the digits of a fingerprint.
    private var prefixCount: Int { "sha256:".utf8.count }
}
