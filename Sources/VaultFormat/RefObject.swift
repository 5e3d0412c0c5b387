/// The content of a branch head (02-objects §6).
package enum RefObject {
    /// The commit a ref names; nil for a branch without commits.
    ///
    /// - Throws: `.malformed` when the plaintext names no commit in a readable way.
    package static func decode(_ plaintext: Span<UInt8>) throws(FormatError) -> ObjectID? {
        guard plaintext.count <= Limits.refPlaintext else { throw .limit("the ref is too large") }
        switch try JSONReader.parse(plaintext)["commit_id"] {
        case .string(let text):
            let id = UTF8Text.normalisedIdentifier(text)
            return id.isEmpty ? nil : try ObjectID(id)
        default: throw .malformed("the ref does not name a commit")
        }
    }

    /// The plaintext of a ref that names `id`.
    package static func encode(_ id: ObjectID?) -> [UInt8] {
        JSONWriter.bytes(.record(["commit_id": .string(id?.text ?? "")]), .python)
    }
}
