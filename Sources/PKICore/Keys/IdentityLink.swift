internal import VaultFormat
internal import VaultSystem

/// A public identity as one line of text: `vaultctl-id:1.ENCRYPT.SIGN.LABEL.CHECK`, each part in base64url.
///
/// ENCRYPT and SIGN are the canonical SubjectPublicKeyInfo in DER, SIGN empty for an identity that cannot sign; LABEL is
/// UTF-8. CHECK is the first 6 bytes of SHA-256 over all the text before its dot, so that a slip in copying is noticed;
/// it proves nothing. There is no fingerprint: whoever reads the link computes it.
enum IdentityLink {
    private static let start = Array("vaultctl-id:1.".utf8)
    private static let anyVersion = Array("vaultctl-id:".utf8)
    private static let separator = UInt8(ascii: ".")
    private static let checkCount = 6

    static func text(_ identity: PublicIdentity) throws(PKIError) -> String {
        let parts = [
            identity.encryption.subjectPublicKeyInfo, identity.signing?.subjectPublicKeyInfo ?? [],
            Array(identity.label.utf8),
        ]
        let joined = parts.map(encode).joined(separator: [separator])
        let text = start + joined
        return String(decoding: text + [separator] + (try check(text)), as: UTF8.self)
    }

    private static func check(_ text: [UInt8]) throws(PKIError) -> [UInt8] {
        encode(Array(try FileDigest.of(text).prefix(checkCount)))
    }

    /// The identity in a text, white space around it left out; nil when the text is no link at all.
    static func identity(in bytes: [UInt8]) throws(PKIError) -> PublicIdentity? {
        let text = Array(bytes[UTF8Text.stripped(bytes.span)])
        guard text.starts(with: anyVersion) else { return nil }
        guard text.starts(with: start) else {
            throw PKIError(.formatUnsupported, "this identity link has a version that is not supported")
        }
        let damaged = PKIError(
            .objectCorrupt, "this identity link is damaged", hint: "copy all of it, without line breaks")
        guard text.count <= PKILimits.bundle else { throw damaged }
        guard let end = text.lastIndex(of: separator), try text[(end + 1)...].elementsEqual(check(Array(text[..<end])))
        else { throw damaged }
        let parts = text[start.count..<end].split(separator: separator, omittingEmptySubsequences: false)
            .map { decode(Array($0)) }
        guard parts.count == 3, let encryption = parts[0], let signing = parts[1], let label = parts[2],
            let label = UTF8Text.validated(label.span), label.utf8.count <= PKILimits.label
        else { throw damaged }
        return PublicIdentity(
            label: label, encryption: try EncryptionPublicKey(subjectPublicKeyInfo: encryption),
            signing: signing.isEmpty ? nil : try SigningPublicKey(subjectPublicKeyInfo: signing))
    }

    /// RFC 4648 §5 without padding.
    private static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text = Base64.encode(bytes.span)
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return text.map {
            $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
        }
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        var standard: [UInt8] = []
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: standard.append(byte)
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        return Base64.decode(standard.span)
    }
}
