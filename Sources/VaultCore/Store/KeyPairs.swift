internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Makes a key pair and stores its public half in the vault, and its private half in the clone when it signs.
    func makeKey(
        keepsPrivate: Bool, scratch: ScratchArea
    ) throws(VaultError) -> (id: KeyID, private: P256PrivateKey, stored: [UInt8]) {
        let random = environment.random
        let pair = try crypto("making a key pair") { () throws(CryptoError) in try P256PrivateKey.generate() }
        let (id, stored) = try decoding("storing a public key") { () throws(FormatError) in
            let id = try KeyID.random(using: random)
            let plaintext = KeyObject.encode(pem: pair.publicKey.pem)
            return (id, try cipher.sealRandom(plaintext.span, random: random))
        }
        try attempt("cannot store a public key") { () throws(Errno) in
            try scratch.replace(id.text.bytes, in: layout.keys, with: stored.span, mode: 0o666)
        }
        if keepsPrivate {
            let pem = try crypto("encoding a private key") { () throws(CryptoError) in try pair.pem() }
            try pem.withBytes { (bytes) throws(VaultError) in
                try attempt("cannot store a private key") { () throws(Errno) in
                    try scratch.replace(
                        "\(id.text).pem".bytes, in: layout.local, with: bytes, mode: 0o600)
                }
            }
        }
        return (id, pair, stored)
    }
}
