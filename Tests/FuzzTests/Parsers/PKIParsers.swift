import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore
@testable import VaultCrypto

/// The readers of keys, bundles, envelopes, signatures and manifests of other people.
enum PKIParsers {
    /// One public key, as PEM or as DER.
    static func publicKey(_ bytes: [UInt8]) throws {
        let rsa = (try? RSAPublicKey(pem: bytes.span)) ?? (try? RSAPublicKey(subjectPublicKeyInfo: bytes.span))
        if let rsa {
            let (again, text) = (rsa.subjectPublicKeyInfo, rsa.pem)
            let isSame = (try? RSAPublicKey(pem: text.span))?.subjectPublicKeyInfo == again
            try FuzzTarget.require(isSame, "an RSA key does not come back")
            try FuzzTarget.require(rsa.modulusBits >= 2048, "a short RSA key was taken")
            return
        }
        let curve = try (try? P256PublicKey(pem: bytes.span)) ?? P256PublicKey(subjectPublicKeyInfo: bytes.span)
        let text = curve.pem
        let isSame = (try? P256PublicKey(pem: text.span))?.subjectPublicKeyInfo == curve.subjectPublicKeyInfo
        try FuzzTarget.require(isSame, "a P-256 key does not come back")
    }

    /// The structures of keys in DER alone: no arithmetic, so many more of them in a minute.
    ///
    /// There is one encoding of every value, so whatever is taken must come back byte for byte.
    static func der(_ bytes: [UInt8]) throws {
        if let (modulus, exponent) = try? RSAEncoding.publicNumbers(inSubjectPublicKeyInfo: bytes.span) {
            let written = RSAEncoding.subjectPublicKeyInfo(modulus: modulus, exponent: exponent)
            try FuzzTarget.require(written == bytes, "an RSA public key has two encodings")
        }
        if let point = try? P256Encoding.point(inSubjectPublicKeyInfo: bytes.span) {
            let written = P256Encoding.subjectPublicKeyInfo(point: point)
            try FuzzTarget.require(written == bytes, "a P-256 public key has two encodings")
        }
        if let raw = ECDSASignature.raw(der: bytes.span) {
            try FuzzTarget.require(ECDSASignature.der(raw: raw.span) == bytes, "a signature has two encodings")
        }
        if let ranges = try? RSAEncoding.privateRanges(inPKCS8: bytes.span) {
            let numbers = [
                ranges.modulus, ranges.publicExponent, ranges.privateExponent, ranges.firstPrime, ranges.secondPrime,
                ranges.firstExponent, ranges.secondExponent, ranges.coefficient,
            ]
            let parts = numbers.map { bytes[$0] == [0] ? [0x02, 0x01, 0x00] : DERWriter.unsigned(Array(bytes[$0])) }
            let key = DERWriter.value(DERReader.Tag.sequence, [0x02, 0x01, 0x00] + parts.joined())
            let isSame = try RSAEncoding.pkcs8(rsaPrivateKey: key.span).withBytes { [UInt8](copying: $0) == bytes }
            try FuzzTarget.require(isSame, "an RSA private key has two encodings")
        }
        var reader = DERReader(bytes.span)
        while let tag = reader.nextTag(bytes.span) {
            let content = try reader.content(tag, bytes.span)
            let written = DERWriter.value(tag, Array(bytes[content]))
            let start = content.upperBound - written.count
            let isSame = start >= 0 && bytes[start..<content.upperBound].elementsEqual(written)
            try FuzzTarget.require(isSame, "a value has two encodings")
            var number = DERReader(start..<content.upperBound)
            if tag == DERReader.Tag.integer, let value = try? number.number(bytes.span), value > 0 {
                try FuzzTarget.require(DERWriter.number(value) == written, "a number has two encodings")
            }
        }
    }

    /// One private key in DER, PKCS#8 or what stands in the blocks of other programs.
    static func privateKey(_ bytes: [UInt8]) throws {
        if let key = try? P256PrivateKey(pkcs8: bytes.span) {
            let isRead = (try? key.withPKCS8 { der throws(CryptoError) in try P256PrivateKey(pkcs8: der) }) != nil
            try FuzzTarget.require(isRead, "a P-256 key does not come back")
        }
        if let wrapped = try? P256Encoding.pkcs8(ecPrivateKey: bytes.span) {
            wrapped.withBytes { der in _ = try? P256PrivateKey(pkcs8: der) }
        }
        if let wrapped = try? RSAEncoding.pkcs8(rsaPrivateKey: bytes.span) {
            wrapped.withBytes { der in _ = try? RSAPrivateKey(pkcs8: der) }
        }
        let rsa = try RSAPrivateKey(pkcs8: bytes.span)
        let isSame = try rsa.withPKCS8 { der throws(CryptoError) in [UInt8](copying: der) == bytes }
        try FuzzTarget.require(isSame, "an RSA key has two forms")
    }

    /// EncryptedPrivateKeyInfo in DER; what asks for work is not decrypted here.
    static func encryptedKey(_ bytes: [UInt8]) throws {
        var outer = DERReader(bytes.span)
        var info = try outer.nested(DERReader.Tag.sequence, bytes.span)
        let scheme = try PBES2Scheme(&info, bytes.span)
        switch scheme.derivation {
        case .pbkdf2(let hash, let iterations):
            try FuzzTarget.require(iterations <= PBES2Scheme.maximumIterations, "too much work was accepted")
            // The one form that is written comes back byte for byte.
            if hash == .sha256, scheme.cipher == .aes256 {
                let written = scheme.encoded(iterations: iterations)
                var again = DERReader(written.span)
                let read = try PBES2Scheme(&again, written.span)
                try FuzzTarget.require(read.salt == scheme.salt && read.iv == scheme.iv, "a scheme does not come back")
            }
            guard iterations <= 4 else { return }
        case .scrypt(let cost, let size, let parallelism):
            try FuzzTarget.require(
                128 * cost * size <= PBES2Scheme.maximumScryptMemory
                    && parallelism <= PBES2Scheme.maximumScryptParallelism, "too much memory was accepted")
            guard cost * size * parallelism <= 64 else { return }
        }
        _ = try EncryptedPrivateKey.decrypt(bytes.span, passphrase: [0x61].span)
    }

    static func bundle(_ bytes: [UInt8]) throws {
        let bundle = try PublicBundle(parsing: bytes)
        let again = try? PublicBundle(parsing: PublicBundle(bundle.identity).bytes()).identity
        try FuzzTarget.require(again == bundle.identity, "a bundle does not come back")
        let linked = try? PublicBundle(parsing: Array(bundle.link().utf8)).identity
        try FuzzTarget.require(linked == bundle.identity, "a link does not come back")
        // A link lacks no key either, so a bundle never holds fewer than one.
        _ = try? KeyStore.readContact(bytes, bundle.identity.fingerprint)
    }

    /// The identity that the inputs are sealed to.
    private static let recipient: EncryptionPrivateKey? = {
        let identity = try? Vectors.json("pki/identities.json")["identities"]?.items?.first
        guard let text = identity?["encryption"]?["private_pkcs8_pem"]?.text, let none = try? Passphrase.none() else {
            return nil
        }
        return try? EncryptionPrivateKey(
            pem: Array(text.utf8), passphrase: none, check: .arithmetic, name: "the key")
    }()

    static func sealedEnvelope(_ bytes: [UInt8]) throws {
        let summary = try SealedEnvelope.summary(of: bytes)
        try FuzzTarget.require(
            summary.form == .sealed ? !summary.recipients.isEmpty : summary.recipients.isEmpty,
            "an envelope has recipients that its form does not know")
        guard let recipient else { throw FuzzTarget.Broken("the recipient's key cannot be read") }
        let opened = try SealedEnvelope.open(bytes, with: recipient, signers: .none)
        try FuzzTarget.require(opened.form == summary.form, "two ways of reading an envelope differ")
        if case .verified = opened.signature { throw FuzzTarget.Broken("a signature by nobody was verified") }
    }

    static func detachedSignature(_ bytes: [UInt8]) throws {
        let signature = try DetachedSignature(parsing: bytes)
        let again = try? DetachedSignature(parsing: signature.bytes())
        try FuzzTarget.require(again == signature, "a signature does not come back")
        try FuzzTarget.require(
            (try? signature.verify([], signers: .none)) == .unknownSigner, "nobody's signature was found known")
    }

    static func manifest(_ bytes: [UInt8]) throws {
        let manifest = try FolderManifest(parsing: bytes)
        try FuzzTarget.require(manifest.bytes() == bytes, "a manifest has two forms")
        let isInside = manifest.entries.allSatisfy { entry in
            entry.path.first != UInt8(ascii: "/")
                && entry.path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                    .allSatisfy { !$0.isEmpty && !$0.elementsEqual(Array("..".utf8)) }
        }
        try FuzzTarget.require(isInside, "a manifest leads elsewhere")
    }
}
