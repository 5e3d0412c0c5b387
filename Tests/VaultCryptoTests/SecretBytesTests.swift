import Glibc
import Testing

@testable import VaultCrypto

@Suite struct SecretBytesTests {
    @Test(arguments: [0, 1, 31, 32, 4095, 4096, 4097, 100_000])
    func `holds a copy of the bytes given`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let secret = try SecretBytes(copying: bytes.span)
        #expect(secret.count == count)
        #expect(revealed(secret) == bytes)
    }

    @Test func `memory is zero before it is filled`() throws {
        let secret = try SecretBytes(count: 100) { bytes in
            for index in bytes.indices { #expect(bytes[index] == 0) }
            bytes[99] = 5
        }
        #expect(revealed(secret) == [UInt8](repeating: 0, count: 99) + [5])
    }

    @Test func `an error while filling is passed on`() {
        let code = errorCode {
            _ = try SecretBytes(count: 16) { _ throws(CryptoError) in throw CryptoError(.invalidKey) }
        }
        #expect(code == .invalidKey)
    }

    @Test func `a negative count is refused`() {
        #expect(errorCode { _ = try SecretBytes(count: -1) { _ in } } == .invalidLength)
    }

    @Test func `a copy holds the same bytes in other memory`() throws {
        let secret = try SecretBytes(copying: hex("00ff10").span)
        let copy = try secret.copy()
        #expect(revealed(copy) == hex("00ff10"))
        #expect(address(of: copy) != address(of: secret))
    }

    @Test func `equality compares all bytes and the length`() throws {
        let secret = try SecretBytes(copying: hex("000102").span)
        for (other, same) in [("000102", true), ("000103", false), ("100102", false), ("0001", false), ("", false)] {
            let value = try SecretBytes(copying: hex(other).span)
            let answer = secret.isEqual(to: value)
            #expect(answer == same, "\(other)")
        }
        let nothing: [UInt8] = []
        let empty = try SecretBytes(copying: nothing.span)
        let alsoEmpty = try SecretBytes(copying: nothing.span)
        let answer = empty.isEqual(to: alsoEmpty)
        #expect(answer)
    }

    @Test func `errors and results pass through the closure`() throws {
        let secret = try SecretBytes(copying: hex("0102").span)
        #expect(secret.withBytes { $0[1] } == 2)
        #expect(errorCode { try secret.withBytes { _ in throw CryptoError(.invalidParameter) } } == .invalidParameter)
    }

    @Test func `dumping an object that holds secrets shows none of their bytes`() throws {
        // 167 = 0xA7, as hex or as a number, would show up somewhere if the key did.
        let bytes = [UInt8](repeating: 0xA7, count: 32)
        var text = ""
        dump(try AESGCM(key: bytes.span), to: &text)
        dump(try HMACSHA256(key: bytes.span), to: &text)
        #expect(text.contains("AESGCM") && text.contains("HMACSHA256"))
        // Addresses hold any digits.
        let told = text.replacing(/0x[0-9a-fA-F]+/, with: "")
        #expect(!told.contains("167") && !told.lowercased().contains("a7a7"))
    }

    @Test func `dumping a private key shows no part of the scalar`() throws {
        let key = try P256PrivateKey.generate()
        let der = try PEM.privateKey(in: revealed(try key.pem()).span)
        let scalar = Array(revealed(der)[36..<68])
        var text = "\(key) \(String(reflecting: key))"
        dump(key, to: &text)
        // A dump shows the bytes of an array as one number a line; the point of the public half is such an array.
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        #expect(numbers.firstRange(of: key.publicKey.subjectPublicKeyInfo.map(Int.init)) != nil)
        #expect(numbers.firstRange(of: scalar.prefix(4).map(Int.init)) == nil)
        #expect(!text.lowercased().contains(scalar.prefix(4).hex))
    }

    @Test func `freed memory cannot be read`() async {
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            let gone = try leakedAddress()
            // unsafe: the point of the test. The page is no longer mapped, so the process ends here.
            let byte = unsafe UnsafePointer<UInt8>(bitPattern: gone)?.pointee
            print(byte ?? 0)
        }
    }

    @Test func `the byte after the last one cannot be read`() async {
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            let secret = try SecretBytes(copying: [1, 2, 3].span)
            let end = address(of: secret) + 3
            // unsafe: the point of the test. The memory ends where a guard page begins.
            let byte = unsafe UnsafePointer<UInt8>(bitPattern: end)?.pointee
            print(byte ?? 0, secret.count)
        }
    }
}

/// Where the bytes of a secret lie.
private func address(of secret: borrowing SecretBytes) -> UInt {
    secret.withBytes { bytes in
        unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}

/// Where the bytes of a secret lay that no longer exists.
private func leakedAddress() throws -> UInt {
    let secret = try SecretBytes(copying: [1, 2, 3].span)
    return address(of: secret)
}
