/// The place of one file of a vault's store: the path on the wire and below `.sg_vault/` (02-objects §1).
public enum FileID: Hashable, Sendable, CustomStringConvertible {
    /// `bare/data/…`: a blob, tree, commit or tag.
    case object(ObjectID)
    /// `bare/refs/…`: a branch head.
    case ref(RefID)
    /// `bare/indexes/…`: the branch index.
    case index(IndexID)
    /// `bare/keys/…`: a public key.
    case key(KeyID)
    /// `bare/cache/value/…`: a copy of a file's content.
    case cacheValue(CacheID)
    /// `bare/cache/pointer/…`: a shortcut to a file or folder.
    case cachePointer(CacheID)

    /// The path, as in `bare/data/obj-cas-imm-0123456789ab`.
    public var path: String {
        switch self {
        case .object(let id): "bare/data/" + id.text
        case .ref(let id): "bare/refs/" + id.text
        case .index(let id): "bare/indexes/" + id.text
        case .key(let id): "bare/keys/" + id.text
        case .cacheValue(let id): "bare/cache/value/" + id.text
        case .cachePointer(let id): "bare/cache/pointer/" + id.text
        }
    }

    /// Reads a path; throws `.malformed` for everything that is not the place of one known kind of file.
    public init(path: String) throws(FormatError) {
        let parts = path.utf8.split(separator: 0x2F, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard parts.count >= 3, parts[0] == "bare", let leaf = parts.last else {
            throw .malformed("not the path of a stored file")
        }
        switch parts.dropFirst().dropLast().joined(separator: "/") {
        case "data": self = .object(try ObjectID(leaf))
        case "refs": self = .ref(try RefID(leaf))
        case "indexes": self = .index(try IndexID(leaf))
        case "keys": self = .key(try KeyID(leaf))
        case "cache/value": self = .cacheValue(try CacheID(leaf))
        case "cache/pointer": self = .cachePointer(try CacheID(leaf))
        default: throw .malformed("not the path of a stored file")
        }
    }

    /// The path.
    public var description: String { path }
}

extension FileID {
    /// Whether this is a cache object, which anybody may replace or remove (02-objects §11).
    public var isCache: Bool {
        switch self {
        case .cacheValue, .cachePointer: true
        default: false
        }
    }
}
