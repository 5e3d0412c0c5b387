import COpenSSL

/// OpenSSL's handles for P-256 keys, made from the numbers themselves.
///
/// OpenSSL 3.0's readers for DER look through all formats they know and take half a millisecond for a private key;
/// this takes a tenth of that, and no reader decides what the bytes mean.
enum P256Handle {
    /// A handle that verifies, for the caller to free; throws `invalidKey` unless the point lies on the curve.
    static func make(point: [UInt8]) throws(CryptoError) -> OpaquePointer {
        try unsafe make(COPENSSL_SELECT_PUBLIC_KEY, point: point) { unsafe [$0, $1] }
    }

    /// A handle that signs, for the caller to free, of a scalar in range and its point.
    static func make(scalar: Span<UInt8>, point: [UInt8]) throws(CryptoError) -> OpaquePointer {
        // OpenSSL takes the number in the byte order of the machine.
        let isLittleEndian = 1.littleEndian == 1
        let number = try SecretBytes(count: scalar.count) { output throws(CryptoError) in
            for index in scalar.indices {
                output[isLittleEndian ? scalar.count - 1 - index : index] = scalar[index]
            }
        }
        return try unsafe number.withBytes { number throws(CryptoError) in
            try unsafe number.withUnsafeBytes { number throws(CryptoError) in
                let item = unsafe KeyParameters.parameter("priv", OSSL_PARAM_UNSIGNED_INTEGER, number)
                return try unsafe make(COPENSSL_SELECT_KEY_PAIR, point: point) { unsafe [$0, $1, item] }
            }
        }
    }

    /// The point of a scalar in range, uncompressed.
    static func point(ofScalar scalar: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        // unsafe: all four objects are freed in this scope, the number cleared first.
        let group = try unsafe OpenSSL.check(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1))
        defer { unsafe EC_GROUP_free(group) }
        let context = try unsafe OpenSSL.check(BN_CTX_secure_new(), or: .outOfMemory)
        defer { unsafe BN_CTX_free(context) }
        let point = try unsafe OpenSSL.check(EC_POINT_new(group), or: .outOfMemory)
        defer { unsafe EC_POINT_free(point) }
        let number = try unsafe OpenSSL.check(
            scalar.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, Int32($0.count), nil) },
            or: .outOfMemory)
        defer { unsafe BN_clear_free(number) }
        unsafe BN_set_flags(number, BN_FLG_CONSTTIME)
        try unsafe OpenSSL.check(EC_POINT_mul(group, point, number, nil, nil, context))
        var bytes = [UInt8](repeating: 0, count: P256Encoding.pointCount)
        let written = unsafe EC_POINT_point2oct(
            group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, context)
        guard written == bytes.count else { throw OpenSSL.failure() }
        return bytes
    }

    /// Builds a handle of the parts that `list` puts together from the curve and the point.
    private static func make(
        _ selection: Int32, point: [UInt8], _ list: (_ curve: OSSL_PARAM, _ point: OSSL_PARAM) -> [OSSL_PARAM]
    ) throws(CryptoError) -> OpaquePointer {
        let name: StaticString = "prime256v1"
        let curve = unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        // unsafe: the parameters point to the name, which is static, and to the array, which lives through the call.
        return try unsafe point.span.withUnsafeBytes { point throws(CryptoError) in
            let parts = unsafe list(
                KeyParameters.parameter("group", OSSL_PARAM_UTF8_STRING, curve),
                KeyParameters.parameter("pub", OSSL_PARAM_OCTET_STRING, point))
            return try unsafe KeyParameters.makeKey("EC", selection, parts)
        }
    }
}
