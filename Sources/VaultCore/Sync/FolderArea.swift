internal import VaultFormat

/// The folders below `bare/` that hold a vault's files, one per kind.
enum FolderArea: Int, CaseIterable, Sendable {
    case objects, refs, keys, indexes, cacheValues, cachePointers

    /// The folder's names, seen from `bare/`.
    var names: [String] {
        switch self {
        case .objects: ["data"]
        case .refs: ["refs"]
        case .keys: ["keys"]
        case .indexes: ["indexes"]
        case .cacheValues: ["cache", "value"]
        case .cachePointers: ["cache", "pointer"]
        }
    }

    init(of id: FileID) {
        self =
            switch id {
            case .object: .objects
            case .ref: .refs
            case .index: .indexes
            case .key: .keys
            case .cacheValue: .cacheValues
            case .cachePointer: .cachePointers
            }
    }

    static func all(in area: RemoteArea) -> [FolderArea] {
        switch area {
        case .all: allCases
        case .objects: [.objects]
        case .refs: [.refs]
        case .keys: [.keys]
        case .indexes: [.indexes]
        case .cache: [.cacheValues, .cachePointers]
        }
    }

    /// The file that a name in this folder stands for; nil when it is none of a vault's.
    func file(named name: [UInt8]) -> FileID? {
        // Objects are many: their names are read without making text of them.
        if self == .objects { return ObjectID(parsing: name.span).map { .object($0) } }
        guard let text = String(validating: name, as: UTF8.self) else { return nil }
        switch self {
        case .objects: return nil
        case .refs: return (try? RefID(text)).map { .ref($0) }
        case .keys: return (try? KeyID(text)).map { .key($0) }
        case .indexes: return (try? IndexID(text)).map { .index($0) }
        case .cacheValues: return (try? CacheID(text)).map { .cacheValue($0) }
        case .cachePointers: return (try? CacheID(text)).map { .cachePointer($0) }
        }
    }
}

extension FileID {
    /// The file's name in the folder of its kind.
    var leaf: [UInt8] {
        switch self {
        case .object(let id): id.utf8
        case .ref(let id): id.text.bytes
        case .index(let id): id.text.bytes
        case .key(let id): id.text.bytes
        case .cacheValue(let id), .cachePointer(let id): id.text.bytes
        }
    }
}
