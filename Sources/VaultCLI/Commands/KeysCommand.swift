internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// The verbs `vaultctl keys ACTION`.
enum KeysCommand {
    static let showSecrets = OptionSpec.flag("--show-secrets", help: "also print the read key and the write key")

    static let verbs: [Verb] = [show, derive, classify, KeysTokenCommand.verb]

    private static let key = Positional(
        "KEY", help: "a published read key, or '-' for standard input; otherwise the key of --key-file and its like",
        secret: true)
    private static let keyOrClone = Positional(
        "KEY",
        help: "a published read key, '-' for standard input, or '.' for the key of this clone; otherwise the key of "
            + "--key-file and its like",
        secret: true)

    private static let show = Verb(
        words: ["keys", "show"], group: .keys, summary: "print the key of this clone",
        paragraph: """
            Prints the vault key, or on a read-only clone the read key, on standard output. '.' stands for this clone. \
            A bare clone holds none: there the key of --key-file and its like is checked and printed. A standard output \
            that is a file other users can read is refused, unless -y is given.
            """,
        synopsis: ["keys show ."],
        positionals: [Positional("NAME", help: "'.', this clone", required: true, completion: .choice(["."]))],
        exits: [
            .init(.ok), .init(.notFound, "there is no key of this name"), .init(.auth, "a bare clone holds no key"),
            .init(.refused, "standard output is a file that other users can read"),
        ],
        examples: [
            .init("vaultctl keys show .", "Prints the key of this clone."),
            .init("(umask 077; vaultctl keys show . > ~/notes.key)", "Keeps a copy that nobody else can read."),
        ],
        document: .init("vaultctl/keys-show/1", "vault_id, kind, key"),
        action: .local { call in try runShow(call) })

    private static let derive = Verb(
        words: ["keys", "derive"], group: .keys, summary: "tell the ids that follow from a key",
        paragraph: """
            Tells the vault id and the places of the head and of the branch index that follow from a key: the one given \
            by --key-file, --key-fd, --key-command, VAULTCTL_KEY or KEY, else that of this clone ('.', or -C DIR for \
            that of another). Key material is printed with --show-secrets only, and not into a file that other users can read, unless -y is given.
            """,
        synopsis: ["keys derive [--show-secrets] [KEY]"], options: [showSecrets], positionals: [keyOrClone],
        exits: [
            .init(.ok), .init(.notFound), .init(.auth),
            .init(.refused, "standard output is a file that other users can read"), .init(.inputNeeded),
        ],
        examples: [
            .init("vaultctl keys derive", "The ids of this vault."),
            .init("vaultctl keys derive --show-secrets --key-file ~/notes.key", "Also the derived keys."),
        ],
        document: .init(
            "vaultctl/keys-derive/1",
            "vault_id, ref_file_id, branch_index_file_id, and with --show-secrets: read_key, write_key (of a vault key)"
        ),
        action: .local { call in try runDerive(call) })

    private static let classify = Verb(
        words: ["keys", "classify"], group: .keys, summary: "tell what kind of key a text is",
        paragraph: """
            Looks at the form of a key text and derives nothing: its declared kind and prefix, the vault it is for, how a \
            clone with it could be used, and whether the reference program accepts it. The text is KEY or comes from \
            --key-file, --key-fd, --key-command, VAULTCTL_KEY or the terminal.
            """,
        synopsis: ["keys classify [KEY]"], positionals: [key],
        exits: [.init(.ok), .init(.inputNeeded)],
        examples: [
            .init("vaultctl keys classify --key-file ~/notes.key", "Tells what the file holds."),
            .init("pass show notes | vaultctl keys classify -", "Looks at what comes through a pipe."),
        ],
        document: .init("vaultctl/keys-classify/1", "kind, prefix, vault_id, mode, usable_by_reference"),
        action: .local { call in try runClassify(call) })

    private static func runShow(_ call: Call) throws -> ExitCode {
        let name = call.arguments.allPositionals.first ?? []
        guard name == [UInt8(ascii: ".")] else {
            throw VaultError(.keyNotFound, "there is no key of this name; '.' is the key of this clone")
        }
        try SecretOutput(call: call).checkOutput()
        let input = SecretInput(call: call)
        let vault = try VaultPlace.open(call) {
            // Nobody is asked for a key in order to be shown it.
            guard let source = input.source, let text = try input.given() else {
                throw VaultError(
                    .keyMissing, "this is a bare clone, which holds no key that could be shown",
                    hint: "the key is where the clone was made with it; --key-file F checks and prints that of F")
            }
            return try text.withBytes { try SecretInput.accessKey($0, from: source) }
        }
        if vault.mode == .bare, let text = try givenVaultKey(input) {
            return try call.answer(KeyAnswer(vaultID: vault.vaultID, kind: .vault, text: text))
        }
        if let text = try vault.vaultKeyText() {
            return try call.answer(
                KeyAnswer(vaultID: vault.vaultID, kind: .vault, text: SecretOutput.text(text)))
        }
        let hex = SecretOutput.text(try vault.readKeyText())
        return try call.answer(
            KeyAnswer(
                vaultID: vault.vaultID, kind: .readPrivate,
                text: KeyText.readPrivatePrefix + hex + ":" + vault.vaultID.text))
    }

    /// The text of the vault key that was given; nil when it is a read key.
    private static func givenVaultKey(_ input: SecretInput) throws -> String? {
        guard let source = input.source, let text = try input.given() else { return nil }
        return try text.withBytes { bytes in
            guard case .vault(let key) = try SecretInput.accessKey(bytes, from: source) else { return nil }
            return SecretOutput.text(try key.text())
        }
    }

    private static func runDerive(_ call: Call) throws -> ExitCode {
        if call.has(showSecrets) { try SecretOutput(call: call).checkOutput() }
        guard call.arguments.allPositionals.first != [UInt8(ascii: ".")], let text = try given(call) else {
            return try deriveFromClone(call)
        }
        let source = call.arguments.allPositionals.isEmpty ? SecretInput(call: call).source : nil
        return try text.withBytes { bytes in
            try derive(call, from: bytes.extracting(schemeLength(bytes)...), source ?? "the argument")
        }
    }

    private static func derive(_ call: Call, from text: Span<UInt8>, _ source: String) throws -> ExitCode {
        switch try SecretInput.accessKey(text, from: source) {
        case .read(let readKey, let id): return try tell(call, id, readKey, nil)
        case .vault(let key):
            guard call.has(showSecrets) else { return try tell(call, key.vaultID, try key.deriveReadKey(), nil) }
            let (readKey, writeKey) = try Vault.deriveBoth(key)
            return try tell(call, key.vaultID, readKey, writeKey)
        }
    }

    private static func deriveFromClone(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        if call.has(showSecrets), let text = try vault.vaultKeyText() {
            return try text.withBytes { bytes in try derive(call, from: bytes, "the clone") }
        }
        let readKey = try vault.readKeyText().withBytes { try ReadKey(hex: $0) }
        return try tell(call, vault.vaultID, readKey, nil)
    }

    private static func tell(
        _ call: Call, _ vaultID: VaultID, _ readKey: ReadKey, _ writeKey: WriteKey?
    ) throws -> ExitCode {
        let ids = try DerivedIDs(readKey: readKey, vaultID: vaultID)
        let showsSecrets = call.has(showSecrets)
        return try call.answer(
            DeriveAnswer(
                vaultID: vaultID, refID: ids.headRef.text, indexID: ids.index.text,
                readKey: showsSecrets ? SecretOutput.text(try readKey.hex()) : nil,
                writeKey: try writeKey.map { SecretOutput.text(try $0.hex()) }))
    }

    private static func runClassify(_ call: Call) throws -> ExitCode {
        let text = try given(call) ?? SecretInput(call: call).key(for: "'keys classify'")
        return try call.answer(text.withBytes { ClassifyAnswer(text: $0) })
    }

    /// The key text that the command line or the environment gives.
    private static func given(_ call: Call) throws -> SecretBytes? {
        let input = SecretInput(call: call)
        guard let argument = call.arguments.allPositionals.first else { return try input.given() }
        try input.checkSingleSource("an argument")
        guard !argument.isEmpty else { throw Usage.error("the argument is empty", about: [call.verb]) }
        if argument.first == UInt8(ascii: ".") || argument.contains(UInt8(ascii: "/")), argument.count < 64,
            !argument.contains(UInt8(ascii: ":"))
        {
            throw Usage.error(
                "the argument is a path and no key; vaultctl -C DIR keys derive tells about the clone in DIR",
                about: [call.verb])
        }
        if argument == [UInt8(ascii: "-")] { return try input.standardInput() }
        if KeyText.kind(of: argument.span) == .unknown { try input.checkArgument("a private key as an argument") }
        return try SecretText.verbatim(argument, from: "the argument")
    }

    /// How many bytes of `vault://`, which may stand before a key here (spec 01 §1.2), a text begins with.
    private static func schemeLength(_ text: Span<UInt8>) -> Int {
        let scheme = Array("vault://".utf8)
        guard text.count > scheme.count, scheme.indices.allSatisfy({ text[$0] == scheme[$0] }) else { return 0 }
        return scheme.count
    }
}

/// A key, told because it was asked for.
private struct KeyAnswer: Rendered {
    let vaultID: VaultID
    let kind: KeyTextKind
    let text: String

    func writeText(to text: TextRenderer) throws {
        try text.line(self.text)
    }

    func jsonMembers() -> [JSONMember] {
        .record(["vault_id": .string(vaultID.text), "kind": .string(kind.rawValue), "key": .string(text)])
    }
}

/// What follows from a key, told.
private struct DeriveAnswer: Rendered {
    let vaultID: VaultID
    let refID: String
    let indexID: String
    let readKey: String?
    let writeKey: String?

    func writeText(to text: TextRenderer) throws {
        for member in jsonMembers() { try text.line("\(member.name): \(member.value.text ?? "")") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "vault_id": .string(vaultID.text), "ref_file_id": .string(refID), "branch_index_file_id": .string(indexID),
        ])
            + (readKey.map { .record(["read_key": .string($0)]) } ?? [])
            + (writeKey.map { .record(["write_key": .string($0)]) } ?? [])
    }
}

/// What a key text is, told.
private struct ClassifyAnswer: Rendered {
    let kind: KeyTextKind
    let prefix: String?
    let vaultID: VaultID?
    let mode: CloneMode?
    let isUsableByReference: Bool

    init(text: Span<UInt8>) {
        kind = KeyText.kind(of: text)
        prefix = KeyText.prefix(of: text)
        do throws(FormatError) {
            switch try AccessKey.routing(argument: text, readKey: nil) {
            case .read(_, let id):
                vaultID = id
                mode = .readOnly
                isUsableByReference = true
            case .vault(let key):
                vaultID = key.vaultID
                mode = .full
                isUsableByReference = key.isUsableByReference
            }
        } catch {
            vaultID = nil
            mode = nil
            isUsableByReference = false
        }
    }

    func writeText(to text: TextRenderer) throws {
        try text.line("kind: \(kind.rawValue)")
        try text.line("prefix: \(prefix ?? "none")")
        try text.line("vault_id: \(vaultID?.text ?? "none")")
        try text.line("mode: \(mode?.rawValue ?? "none")")
        try text.line("usable_by_reference: \(isUsableByReference)")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "kind": .string(kind.rawValue),
            "prefix": .optional(prefix),
            "vault_id": .optional(vaultID?.text),
            "mode": .optional(mode?.rawValue),
            "usable_by_reference": .bool(isUsableByReference),
        ])
    }
}
