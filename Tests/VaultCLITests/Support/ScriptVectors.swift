internal import VaultFormat
internal import VaultTestSupport

/// Files that a script takes from the committed vectors: identities of the reference, and cases by their id.
struct ScriptVectors {
    let tool: Tool

    /// Something that a vector file lacks.
    struct Missing: Error {
        let what: String
    }

    /// Writes the key store folder of an identity below a key store, each file with its mode.
    func keyStore(_ name: String, in home: [UInt8]) throws {
        let identity = try identity(name)
        let folder = try text(identity["folder"], name)
        for file in identity["files"]?.members ?? [] {
            let mode = UInt32(try text(file.value["mode"], file.name), radix: 8) ?? 0
            let path = home + Array("/keys/\(folder)/\(file.name)".utf8)
            try tool.write(Array(try text(file.value["text"], file.name).utf8), to: path, mode: mode)
        }
    }

    /// Writes the contact file of an identity below a key store.
    func contact(_ name: String, in home: [UInt8]) throws {
        let file = try identity(name)["contact_file"]
        let path = home + Array("/keyring/\(try text(file?["name"], name))".utf8)
        try tool.write(Array(try text(file?["text"], name).utf8), to: path)
    }

    /// Writes what the reference exports for an identity.
    func bundle(_ name: String, to path: [UInt8]) throws {
        try tool.write(Array(try text(identity(name)["bundle_export"], name).utf8), to: path)
    }

    /// Writes a private key of an identity, which is not encrypted.
    func privateKey(_ name: String, _ half: String, to path: [UInt8]) throws {
        let pem = try text(identity(name)[name: half]?["private_pkcs8_pem"], name)
        try tool.write(Array(pem.utf8), to: path, mode: 0o600)
    }

    /// Writes a member of a case, text as it is and `…_hex` as bytes.
    func member(_ member: String, of id: String, in file: String, to path: [UInt8]) throws {
        let cases = try Vectors.json(file)["cases"]?.items ?? []
        let value = try text(cases.first { $0["id"]?.text == id }?[name: member], "\(file) \(id) \(member)")
        let bytes = member.hasSuffix("_hex") ? Hex.decode(Array(value.utf8).span) ?? [] : Array(value.utf8)
        try tool.write(bytes, to: path)
    }

    private func identity(_ name: String) throws -> JSONValue {
        let all = try Vectors.json("pki/identities.json")["identities"]?.items ?? []
        guard let found = all.first(where: { $0["name"]?.text == name }) else { throw Missing(what: name) }
        return found
    }

    private func text(_ value: JSONValue?, _ what: String) throws -> String {
        guard let text = value?.text else { throw Missing(what: what) }
        return text
    }
}
