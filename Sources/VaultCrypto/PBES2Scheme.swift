/// How an encrypted private key was encrypted, as its own bytes say (RFC 8018 §A.4, RFC 7914 §7).
///
/// What they ask for is bounded before any work is done: a file from somebody else decides neither time nor memory.
struct PBES2Scheme {
    /// The most rounds of PBKDF2 that are done.
    static let maximumIterations = 10_000_000
    /// The most bytes that scrypt may fill, and its largest factor of repetition.
    static let maximumScryptMemory = 64 << 20
    static let maximumScryptParallelism = 16
    private static let saltCounts = 1...1024

    /// How the key comes from the passphrase.
    enum Derivation: Equatable {
        case pbkdf2(KeyStretching.Hash, iterations: Int)
        case scrypt(cost: Int, blockSize: Int, parallelism: Int)
    }

    let derivation: Derivation
    let salt: [UInt8]
    let cipher: BlockCipher
    let iv: [UInt8]

    /// Reads the AlgorithmIdentifier that follows in an EncryptedPrivateKeyInfo.
    ///
    /// - Throws: `invalidKey` for what is no such structure, `unsupported` for algorithms and amounts of work that are
    ///   not done here.
    init(_ reader: inout DERReader, _ bytes: Span<UInt8>) throws(CryptoError) {
        var algorithm = try reader.nested(DERReader.Tag.sequence, bytes)
        guard try algorithm.objectID(bytes) == ObjectID.pbes2 else { throw CryptoError(.unsupported) }
        var parameters = try algorithm.nested(DERReader.Tag.sequence, bytes)
        try algorithm.finish()
        var function = try parameters.nested(DERReader.Tag.sequence, bytes)
        var scheme = try parameters.nested(DERReader.Tag.sequence, bytes)
        try parameters.finish()

        let cipherID = try scheme.objectID(bytes)
        guard let cipher = ObjectID.ciphers.first(where: { $0.0 == cipherID })?.1 else {
            throw CryptoError(.unsupported)
        }
        self.cipher = cipher
        iv = [UInt8](copying: bytes.extracting(try scheme.content(DERReader.Tag.octetString, bytes)))
        try scheme.finish()
        guard iv.count == cipher.blockCount else { throw CryptoError(.invalidKey) }

        let functionID = try function.objectID(bytes)
        var values = try function.nested(DERReader.Tag.sequence, bytes)
        try function.finish()
        salt = [UInt8](copying: bytes.extracting(try values.content(DERReader.Tag.octetString, bytes)))
        guard Self.saltCounts.contains(salt.count) else { throw CryptoError(.invalidKey) }
        switch functionID {
        case ObjectID.pbkdf2: derivation = try Self.pbkdf2(&values, bytes, keyCount: cipher.keyCount)
        case ObjectID.scrypt: derivation = try Self.scrypt(&values, bytes, keyCount: cipher.keyCount)
        default: throw CryptoError(.unsupported)
        }
        try values.finish()
    }

    /// A scheme as it is written here: PBKDF2 with HMAC-SHA-256 and AES-256-CBC.
    init(salt: [UInt8], iv: [UInt8], iterations: Int) {
        derivation = .pbkdf2(.sha256, iterations: iterations)
        self.salt = salt
        cipher = .aes256
        self.iv = iv
    }

    /// The AlgorithmIdentifier of a scheme that is written here.
    func encoded(iterations: Int) -> [UInt8] {
        func id(_ id: [UInt8]) -> [UInt8] { DERWriter.value(DERReader.Tag.objectID, id) }
        func octets(_ bytes: [UInt8]) -> [UInt8] { DERWriter.value(DERReader.Tag.octetString, bytes) }
        let prf = DERWriter.sequence(id(ObjectID.hmacSHA256), DERWriter.value(DERReader.Tag.null, []))
        let function = DERWriter.sequence(
            id(ObjectID.pbkdf2), DERWriter.sequence(octets(salt), DERWriter.number(iterations), prf))
        let scheme = DERWriter.sequence(id(ObjectID.aes256), octets(iv))
        return DERWriter.sequence(id(ObjectID.pbes2), DERWriter.sequence(function, scheme))
    }

    /// The key of the cipher.
    func key(passphrase: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        switch derivation {
        case .pbkdf2(let hash, let iterations):
            try KeyStretching.pbkdf2(
                hash, password: passphrase, salt: salt.span, iterations: iterations, count: cipher.keyCount)
        case .scrypt(let cost, let blockSize, let parallelism):
            try KeyStretching.scrypt(
                password: passphrase, salt: salt.span, cost: cost, blockSize: blockSize, parallelism: parallelism,
                count: cipher.keyCount)
        }
    }

    private static func pbkdf2(
        _ values: inout DERReader, _ bytes: Span<UInt8>, keyCount: Int
    ) throws(CryptoError) -> Derivation {
        let iterations = try values.number(bytes)
        guard iterations > 0 else { throw CryptoError(.invalidKey) }
        guard iterations <= maximumIterations else { throw CryptoError(.unsupported) }
        try checkKeyCount(&values, bytes, keyCount)
        // HMAC-SHA-1 is the default, and a default is not written.
        guard !values.isAtEnd else { return .pbkdf2(.sha1, iterations: iterations) }
        var prf = try values.nested(DERReader.Tag.sequence, bytes)
        let id = try prf.objectID(bytes)
        guard let hash = ObjectID.hashes.first(where: { $0.0 == id })?.1 else { throw CryptoError(.unsupported) }
        try prf.null(bytes)
        try prf.finish()
        return .pbkdf2(hash, iterations: iterations)
    }

    private static func scrypt(
        _ values: inout DERReader, _ bytes: Span<UInt8>, keyCount: Int
    ) throws(CryptoError) -> Derivation {
        let (cost, blockSize) = (try values.number(bytes), try values.number(bytes))
        let parallelism = try values.number(bytes)
        try checkKeyCount(&values, bytes, keyCount)
        guard cost > 1, cost & (cost - 1) == 0, blockSize > 0, parallelism > 0 else { throw CryptoError(.invalidKey) }
        let most = maximumScryptMemory / 128
        guard cost <= most, blockSize <= most / cost, parallelism <= maximumScryptParallelism else {
            throw CryptoError(.unsupported)
        }
        return .scrypt(cost: cost, blockSize: blockSize, parallelism: parallelism)
    }

    /// The optional length of the key, which must not contradict the cipher.
    private static func checkKeyCount(
        _ values: inout DERReader, _ bytes: Span<UInt8>, _ keyCount: Int
    ) throws(CryptoError) {
        guard values.nextTag(bytes) == DERReader.Tag.integer else { return }
        guard try values.number(bytes) == keyCount else { throw CryptoError(.invalidKey) }
    }

    /// The contents of object identifiers (RFC 8018 §A, RFC 7914 §7).
    private enum ObjectID {
        private static let pkcs5: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05]
        private static let digest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02]
        private static let aes: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01]
        static let pbes2 = pkcs5 + [0x0D]
        static let pbkdf2 = pkcs5 + [0x0C]
        static let scrypt: [UInt8] = [0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x04, 0x0B]
        static let hmacSHA256 = digest + [9]
        static let aes256 = aes + [42]
        static let hashes: [([UInt8], KeyStretching.Hash)] = [
            (digest + [8], .sha224), (hmacSHA256, .sha256), (digest + [10], .sha384), (digest + [11], .sha512),
        ]
        static let ciphers: [([UInt8], BlockCipher)] = [
            (aes + [2], .aes128), (aes + [22], .aes192), (aes256, .aes256),
            ([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x03, 0x07], .tripleDES),
        ]
    }
}
