/// The DER forms of P-256 keys that are accepted, and the range of the numbers in them.
///
/// They are few and each has one length, so they are compared with what they must be, byte for byte, in place of being
/// parsed: what OpenSSL's reader would let through (other lengths, explicit curves, compressed points, trailing bytes)
/// does not match and is refused. 08-pki §2 has the templates.
enum P256Encoding {
    /// The length of a coordinate, of a private scalar and of each half of a signature.
    static let scalarCount = 32
    /// The length of an uncompressed point: the byte 4, then both coordinates.
    static let pointCount = 1 + 2 * scalarCount

    /// `SEQUENCE { SEQUENCE { ecPublicKey, prime256v1 }, BIT STRING }` up to the point.
    private static let publicHead: [UInt8] = [0x30, 0x59] + algorithm + [0x03, 0x42, 0x00]
    /// The algorithm: `SEQUENCE { ecPublicKey, prime256v1 }`.
    private static let algorithm: [UInt8] = [
        0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D,
        0x03, 0x01, 0x07,
    ]
    /// `[0] { prime256v1 }` inside an ECPrivateKey, which some programs write.
    private static let innerCurve: [UInt8] = [
        0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
    ]
    /// `[1] { BIT STRING }` inside an ECPrivateKey, up to the point.
    private static let innerPublicHead: [UInt8] = [0xA1, 0x44, 0x03, 0x42, 0x00]

    /// n, the order of the group (SEC 2 §2.4.2).
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
        0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// What surrounds the scalar in one of the accepted forms of PKCS#8.
    private struct PrivateForm {
        let head: [UInt8]
        /// The head up to the ECPrivateKey structure.
        let outerHead: [UInt8]
        let middle: [UInt8]
        let hasPoint: Bool

        init(innerCurve: Bool, hasPoint: Bool) {
            middle = (innerCurve ? P256Encoding.innerCurve : []) + (hasPoint ? P256Encoding.innerPublicHead : [])
            self.hasPoint = hasPoint
            let key: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20]
            let version: [UInt8] = [0x02, 0x01, 0x00]
            let inner = key.count + scalarCount + middle.count + (hasPoint ? pointCount : 0)
            let outer = version.count + algorithm.count + 2 + 2 + inner
            // DER: one byte of length up to 127, above that the number of length bytes first.
            let length = outer < 0x80 ? [UInt8(outer)] : [0x81, UInt8(outer)]
            outerHead = [0x30] + length + version + algorithm + [0x04, UInt8(inner + 2)]
            head = outerHead + [0x30, UInt8(inner)] + key
        }

        /// The length of the ECPrivateKey structure.
        var innerCount: Int { count - outerHead.count }
        var count: Int { head.count + scalarCount + middle.count + (hasPoint ? pointCount : 0) }
    }

    /// The form that is written: no curve inside, public half present.
    private static let canonicalForm = PrivateForm(innerCurve: false, hasPoint: true)
    private static let privateForms = [
        canonicalForm, PrivateForm(innerCurve: false, hasPoint: false),
        PrivateForm(innerCurve: true, hasPoint: true), PrivateForm(innerCurve: true, hasPoint: false),
    ]

    /// SubjectPublicKeyInfo for an uncompressed point: 91 bytes.
    static func subjectPublicKeyInfo(point: [UInt8]) -> [UInt8] {
        publicHead + point
    }

    /// The point in a SubjectPublicKeyInfo; whether it lies on the curve is not looked at.
    static func point(inSubjectPublicKeyInfo bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        guard bytes.count == publicHead.count + pointCount, matches(publicHead, bytes, at: 0),
            bytes[publicHead.count] == 4
        else { throw CryptoError(.invalidKey) }
        return [UInt8](copying: bytes.extracting(last: pointCount))
    }

    /// Calls `body` with the scalar in a PKCS#8 structure, which is in range, and with the point if there is one.
    static func withPrivateKey<R: ~Copyable>(
        _ bytes: Span<UInt8>, _ body: (_ scalar: Span<UInt8>, _ point: [UInt8]?) throws(CryptoError) -> R
    ) throws(CryptoError) -> R {
        for form in privateForms where form.count == bytes.count {
            let scalarEnd = form.head.count + scalarCount
            guard matches(form.head, bytes, at: 0), matches(form.middle, bytes, at: scalarEnd) else { break }
            let scalar = bytes.extracting(form.head.count..<scalarEnd)
            guard isInRange(scalar) else { break }
            guard form.hasPoint else { return try body(scalar, nil) }
            let point = [UInt8](copying: bytes.extracting(last: pointCount))
            guard point.first == 4 else { break }
            return try body(scalar, point)
        }
        throw CryptoError(.invalidKey)
    }

    /// PKCS#8 around an ECPrivateKey structure (SEC 1 §C.4), which has to name the curve and is not looked at further.
    static func pkcs8(ecPrivateKey bytes: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        // Without a curve inside, the bytes would be a key of any curve with numbers of this length.
        for form in privateForms where form.middle.starts(with: innerCurve) && form.innerCount == bytes.count {
            return try DERWriter.secret(form.outerHead, bytes)
        }
        throw CryptoError(.invalidKey)
    }

    /// PKCS#8 for a scalar and its point: 138 bytes.
    static func privateKeyInfo(scalar: Span<UInt8>, point: [UInt8]) throws(CryptoError) -> SecretBytes {
        try SecretBytes(count: canonicalForm.count) { output throws(CryptoError) in
            var offset = 0
            func put(_ byte: UInt8, _ output: inout MutableSpan<UInt8>) {
                output[offset] = byte
                offset += 1
            }
            for byte in canonicalForm.head { put(byte, &output) }
            for index in scalar.indices { put(scalar[index], &output) }
            for byte in canonicalForm.middle { put(byte, &output) }
            for byte in point { put(byte, &output) }
        }
    }

    /// True for a 32-byte number above zero and below n; the time does not depend on it.
    static func isInRange(_ number: Span<UInt8>) -> Bool {
        guard number.count == scalarCount else { return false }
        var borrow = 0
        var bits: UInt8 = 0
        for index in (0..<scalarCount).reversed() {
            let difference = Int(number[index]) - Int(order[index]) - borrow
            borrow = (difference >> 8) & 1
            bits |= number[index]
        }
        return (borrow == 1) && (bits != 0)
    }

    private static func matches(_ expected: [UInt8], _ bytes: Span<UInt8>, at offset: Int) -> Bool {
        guard offset + expected.count <= bytes.count else { return false }
        return expected.indices.allSatisfy { bytes[offset + $0] == expected[$0] }
    }
}
