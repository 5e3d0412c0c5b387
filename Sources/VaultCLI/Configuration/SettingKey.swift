internal import VaultFormat

/// A setting that may stand in a configuration file (spec 10 B.7).
struct SettingKey: Sendable {
    /// What a value may be.
    enum Kind: Sendable {
        case text, list
        case flag
        /// A whole number of at least zero.
        case number
        case choice([String])
        /// Only `false` is allowed: the setting exists to say so.
        case alwaysFalse
    }

    /// Where a setting has an effect.
    enum Scope: Sendable {
        /// In every configuration file.
        case everywhere
        /// In a clone's own file; it says nothing about other clones.
        case clone
        /// Nowhere yet: the name is kept for the part of the contract that is not built, and nothing reads it.
        case nowhere
    }

    let name: String
    let kind: Kind
    /// Nil when there is none.
    let builtIn: JSONValue?
    let help: String
    var scope = Scope.everywhere

    /// A value that stands in a file or on the command line, if it is one this setting can have.
    func accepts(_ value: JSONValue) -> Bool {
        switch (kind, value) {
        case (.text, .string), (.flag, .bool): true
        case (.list, .array(let items)): items.allSatisfy { $0.text != nil }
        case (.number, .integer(let number)): number >= 0
        case (.choice(let words), .string(let text)): words.contains(text)
        case (.alwaysFalse, .bool(let flag)): !flag
        default: false
        }
    }

    /// Reads a value as typed on the command line; nil when it does not fit.
    func value(typed text: String) -> JSONValue? {
        let value: JSONValue? =
            switch kind {
            case .text, .choice: .string(text)
            case .list:
                .strings(text.split(separator: ",").map { String($0.trimmingPrefix(while: { $0 == " " })) })
            case .flag, .alwaysFalse: text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
            case .number: Int64(text).map { .integer($0) }
            }
        return value.flatMap { accepts($0) ? $0 : nil }
    }

    /// What a value has to look like, for messages.
    var expectation: String {
        switch kind {
        case .text: "text"
        case .list: "a list of texts, separated by commas on the command line"
        case .flag: "true or false"
        case .number: "a whole number"
        case .choice(let words): Usage.list(words)
        case .alwaysFalse: "false"
        }
    }
}

extension SettingKey {
    static let server = SettingKey(
        name: "server.default", kind: .text, builtIn: nil, help: "server or folder that init and clone use")
    static let allowCleartext = SettingKey(
        name: "server.allowCleartext", kind: .list, builtIn: .array([]), help: "origins that http may be spoken with")
    static let retries = SettingKey(
        name: "net.retries", kind: .number, builtIn: .integer(4), help: "attempts of a request")
    static let maxWait = SettingKey(
        name: "net.maxWaitSeconds", kind: .number, builtIn: .integer(30), help: "longest wait a server may ask for")
    static let parallel = SettingKey(
        name: "net.parallel", kind: .number, builtIn: .integer(8), help: "requests under way at once")
    static let color = SettingKey(
        name: "core.color", kind: .choice(GlobalOptions.Tri.words), builtIn: .string("auto"), help: "colour in text")
    static let pager = SettingKey(
        name: "core.pager", kind: .text, builtIn: .string("less -FRX"), help: "shell command that pages long output")
    static let autoCRLF = SettingKey(
        name: "core.autoCRLF", kind: .alwaysFalse, builtIn: .bool(false), help: "always false: content is bytes")
    static let caseCheck = SettingKey(
        name: "core.caseCheck", kind: .choice(["warn", "refuse", "off"]), builtIn: .string("warn"),
        help: "names that differ in case only", scope: .nowhere)
    static let unicodeCheck = SettingKey(
        name: "core.unicodeCheck", kind: .choice(["warn", "refuse", "off"]), builtIn: .string("warn"),
        help: "names that differ in normalisation only", scope: .nowhere)
    static let requireMessage = SettingKey(
        name: "commit.requireMessage", kind: .flag, builtIn: .bool(true), help: "commits need a message")
    static let sign = SettingKey(
        name: "commit.sign", kind: .flag, builtIn: .bool(true), help: "commits are signed")
    static let pullMode = SettingKey(
        name: "pull.mode", kind: .choice(["merge", "ff-only"]), builtIn: .string("merge"), help: "how pull joins work")
    static let autoPull = SettingKey(
        name: "push.autoPull", kind: .flag, builtIn: .bool(false), help: "push merges when the remote moved")
    static let secretScan = SettingKey(
        name: "secret.scan", kind: .flag, builtIn: .bool(true), help: "commits refuse files with a vault's secrets",
        scope: .clone)
    static let cacheKeys = SettingKey(
        name: "core.cacheKeys", kind: .flag, builtIn: .bool(true), help: "a clone keeps the keys derived from its own",
        scope: .clone)
    static let mergeText = SettingKey(
        name: "merge.text", kind: .flag, builtIn: .bool(true), help: "text changed on both sides is merged by line",
        scope: .nowhere)
    static let maxCache = SettingKey(
        name: "cache.maxBytes", kind: .number, builtIn: nil, help: "bytes that caches may take", scope: .nowhere)
    static let keyStore = SettingKey(
        name: "keys.store", kind: .text, builtIn: .string("~/.sg-send"), help: "folder of the key store of identities")
    static let serveBind = SettingKey(
        name: "serve.bind", kind: .text, builtIn: .string("127.0.0.1"), help: "address that serve listens on",
        scope: .nowhere)

    /// Every setting, in the order they are listed.
    static let all: [SettingKey] = [
        server, allowCleartext, retries, maxWait, parallel, color, pager, autoCRLF, caseCheck, unicodeCheck,
        requireMessage, sign, pullMode, autoPull, secretScan, cacheKeys, mergeText, maxCache, keyStore, serveBind,
    ]

    /// The setting of a name.
    static func named(_ name: String) -> SettingKey? {
        all.first { $0.name == name }
    }
}
