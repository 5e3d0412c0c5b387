internal import VaultFormat

/// A key as a person names it: a fingerprint in any case, its first four digits or more, or a label.
struct KeyReference {
    /// The fewest digits that are taken for the beginning of a fingerprint.
    static let fewestDigits = 4

    /// What was given, without blanks at its ends.
    let text: String
    /// The lower-case digits, when the text can be a fingerprint or the beginning of one.
    let digits: [UInt8]?
    /// Whether the text can be nothing but a fingerprint.
    let isPrefixed: Bool

    init(_ given: String) {
        text = UTF8Text.trimmed(given)
        let lower = text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        isPrefixed = lower.starts(with: Fingerprint.prefix)
        let rest = Array(isPrefixed ? lower.dropFirst(Fingerprint.prefix.count) : lower[...])
        let isHex = rest.count <= Fingerprint.digitCount && Hex.isLower(rest.span)
        digits = isHex && rest.count >= Self.fewestDigits ? rest : nil
    }

    /// Whether the text is a whole fingerprint, with or without what stands before its digits.
    private var isWhole: Bool { digits?.count == Fingerprint.digitCount }

    /// The one of the candidates that is meant: whose fingerprint begins so, or whose label it is.
    ///
    /// A whole fingerprint is never a label, and digits that begin one key's fingerprint and are another's label mean
    /// neither: strangers choose their labels, and the first digits of their fingerprints with little work.
    ///
    /// * `kind`: What is looked for, as in "key pair".
    /// - Throws: `keyNotFound`, also when several are meant.
    func choose<Item>(
        from items: [Item], kind: String, hint: String?, _ describe: (Item) -> (fingerprint: Fingerprint, label: String)
    ) throws(PKIError) -> Item {
        let named = items.map { ($0, describe($0)) }
        var matches: [(Item, (fingerprint: Fingerprint, label: String))] = []
        if let digits { matches = named.filter { $0.1.fingerprint.digits.starts(with: digits) } }
        if !isPrefixed, !isWhole, !text.isEmpty {
            matches += named.filter { candidate in
                candidate.1.label.utf8.elementsEqual(text.utf8)
                    && !matches.contains { $0.1.fingerprint == candidate.1.fingerprint }
            }
        }
        if matches.count > 1 {
            let list = matches.map(\.1.fingerprint.text).joined(separator: ", ")
            throw PKIError(
                .keyNotFound, "\(text.quotedForDisplay) stands for \(matches.count) keys: \(list)",
                hint: "give more digits of the fingerprint")
        }
        guard let match = matches.first else {
            throw PKIError(.keyNotFound, "no \(kind) \(text.quotedForDisplay)", hint: hint)
        }
        return match.0
    }
}
