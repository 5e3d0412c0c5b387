/// Every reader of bytes that come from outside, each with what must hold whatever the bytes are.
enum FuzzTarget: String, CaseIterable, Sendable {
    case keyText = "key-text"
    case envelope, tree, treeEntry = "tree-entry", commit, ref, index, tag
    case keyObject = "key-object", cacheObject = "cache-object"
    case json, zlib, zip, ignore, path, pem, base64
    case config, settings, arguments
    case folderJournal = "folder-journal"
    case cloneJournal = "clone-journal"
    case statCache = "stat-cache"
    case derivedKeys = "derived-keys"
    case localFiles = "local-files"
    case der
    case publicKey = "public-key"
    case privateKey = "private-key"
    case encryptedKey = "encrypted-key"
    case bundle, manifest
    case sealedEnvelope = "sealed-envelope"
    case detachedSignature = "detached-signature"

    /// What a reader broke: it gave a value that does not come back, or two ways of reading differ.
    struct Broken: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Reads `bytes`; refusing them is fine.
    ///
    /// - Throws: `Broken` alone.
    func run(_ bytes: [UInt8]) throws {
        do {
            switch self {
            case .keyText: try TextParsers.keyText(bytes)
            case .envelope: try ObjectParsers.envelope(bytes)
            case .tree: try ObjectParsers.tree(bytes)
            case .treeEntry: try ObjectParsers.treeEntry(bytes)
            case .commit: try ObjectParsers.commit(bytes)
            case .ref: try ObjectParsers.ref(bytes)
            case .index: try ObjectParsers.index(bytes)
            case .tag: try ObjectParsers.tag(bytes)
            case .keyObject: try ObjectParsers.keyObject(bytes)
            case .cacheObject: try ObjectParsers.cacheObject(bytes)
            case .json: try TextParsers.json(bytes)
            case .zlib: try TextParsers.zlib(bytes)
            case .zip: try TextParsers.zip(bytes)
            case .ignore: try TextParsers.ignore(bytes)
            case .path: try TextParsers.path(bytes)
            case .pem: try TextParsers.pem(bytes)
            case .base64: try TextParsers.base64(bytes)
            case .config: try CloneParsers.config(bytes)
            case .settings: try CloneParsers.settings(bytes)
            case .arguments: try TextParsers.arguments(bytes)
            case .folderJournal: try CloneParsers.folderJournal(bytes)
            case .cloneJournal: try CloneParsers.cloneJournal(bytes)
            case .statCache: try CloneParsers.statCache(bytes)
            case .derivedKeys: try CloneParsers.derivedKeys(bytes)
            case .localFiles: try CloneParsers.localFiles(bytes)
            case .der: try PKIParsers.der(bytes)
            case .publicKey: try PKIParsers.publicKey(bytes)
            case .privateKey: try PKIParsers.privateKey(bytes)
            case .encryptedKey: try PKIParsers.encryptedKey(bytes)
            case .bundle: try PKIParsers.bundle(bytes)
            case .manifest: try PKIParsers.manifest(bytes)
            case .sealedEnvelope: try PKIParsers.sealedEnvelope(bytes)
            case .detachedSignature: try PKIParsers.detachedSignature(bytes)
            }
        } catch let broken as Broken {
            throw broken
        } catch {
            // Refused.
        }
    }

    static func require(_ holds: Bool, _ what: @autoclosure () -> String) throws {
        if !holds { throw Broken(what()) }
    }
}
