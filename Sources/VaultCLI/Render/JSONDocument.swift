internal import VaultCore
internal import VaultFormat

/// The one document that `--json` prints (spec 10 B.4): compact UTF-8, one line, members in the documented order.
enum JSONDocument {
    /// A verb's result; `ok` is true exactly when the exit code is 0.
    static func result(schema: String, exit: ExitCode, members: [JSONMember]) -> [UInt8] {
        line(.object(.record(["schema": .string(schema), "ok": .bool(exit == .ok)]) + members))
    }

    /// A failure, `vaultctl/error/1`.
    static func failure(_ failure: Failure, verb: String?) -> [UInt8] {
        line(
            .record([
                "schema": .string("vaultctl/error/1"),
                "ok": .bool(false),
                "verb": .optional(verb),
                "exit": .integer(Int64(failure.exit.rawValue)),
                "error": .record([
                    "code": .string(failure.code),
                    "message": .string(failure.message),
                    "hint": .optional(failure.hint),
                    "retryable": .bool(failure.exit.isRetryable),
                    "path": .optional(failure.path),
                    "object": .optional(failure.object),
                    "http_status": .optional(failure.answer?.httpStatus),
                    "retry_after_ms": .optional(failure.answer?.retryAfterMs),
                    "not_before_ms": .optional(failure.answer?.notBeforeMs),
                ]),
                "partial": .null,
            ]))
    }

    private static func line(_ value: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(value, .compact, to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}

extension [JSONMember] {
    /// Members in the order given.
    static func record(_ pairs: KeyValuePairs<String, JSONValue>) -> [JSONMember] {
        pairs.map { JSONMember(name: $0.key, value: $0.value) }
    }
}

extension JSONValue {
    /// A number that fits.
    static func count(_ value: Int) -> JSONValue { .integer(Int64(value)) }

    /// A number, or null.
    static func optional(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }

    /// A number, or null.
    static func optional(_ value: Int?) -> JSONValue { value.map { .count($0) } ?? .null }

    /// A list of texts.
    static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }

    /// An id as text, or null.
    static func id(_ id: ObjectID?) -> JSONValue { .optional(id?.text) }

    /// A name: text where it is UTF-8, else its bytes in base64.
    static func name(_ bytes: [UInt8]) -> JSONValue {
        UTF8Text.validated(bytes.span).map { .string($0) } ?? .record(["bytes_b64": .string(Base64.text(bytes.span))])
    }

    /// A vault path.
    static func path(_ path: VaultPath) -> JSONValue { .name(path.bytes) }

    /// Vault paths.
    static func paths(_ paths: [VaultPath]) -> JSONValue { .array(paths.map { .path($0) }) }

    /// Entries that were left out, with the reason.
    static func skipped(_ entries: [SkippedEntry]) -> JSONValue {
        .array(entries.map { .record(["path": .name($0.path), "reason": .string($0.reason.rawValue)]) })
    }

    /// Lists of changed paths.
    static func changes(_ changes: Changes) -> JSONValue {
        .record([
            "added": .paths(changes.added), "modified": .paths(changes.modified), "deleted": .paths(changes.deleted),
        ])
    }

    /// What was done and what not, or null when nothing failed (spec 10 B.4).
    static func partial(done: [VaultPath], failed: [SkippedEntry]) -> JSONValue {
        guard !failed.isEmpty else { return .null }
        return .record([
            "done": .paths(done),
            "failed": .array(
                failed.map {
                    .record([
                        "item": .name($0.path),
                        "code": .string($0.reason.rawValue),
                        "message": .string("not stored: \($0.reason.words)"),
                    ])
                }),
        ])
    }
}

extension SkippedEntry.Reason {
    /// The reason for people.
    var words: String {
        switch self {
        case .symbolicLink: "a symbolic link"
        case .specialFile: "not a regular file"
        case .unreadable: "can not be read"
        case .nameNotUTF8: "its name is not UTF-8"
        case .nameTooLong: "its name is too long"
        case .nameRefused: "this file system refuses its name"
        case .tooDeep: "it lies more than 512 folders deep"
        case .nameTaken: "this file system takes its name for that of another file"
        case .unsafeName: "its name is not allowed"
        }
    }
}
