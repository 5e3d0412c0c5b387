internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki encrypt`.
enum PkiEncryptCommand {
    static let recipient = OptionSpec.value(
        "--recipient", argument: "NAME", help: "the contact or key pair that can open it",
        completion: .knownKey)
    static let output = PkiCommand.output("write to FILE instead of FILE.enc")

    static let verb = Verb(
        words: ["pki", "encrypt"], group: .identities, summary: "encrypt a file to somebody, as sgit does",
        paragraph: """
            Encrypts a file to one recipient, in the form that sgit opens too, and with --sign-with signs it. sgit verifies \
            that signature over the ciphertext alone, vaultctl over all of it. NAME is \(PkiCommand.naming). For several \
            recipients and for secrets that are handed over: 'pki seal'.
            """,
        synopsis: [
            "pki encrypt --recipient NAME [--sign-with NAME] [-o FILE] [--force] [--home DIR] FILE"
        ],
        options: [recipient, PkiCommand.signWith, output, PkiCommand.force, PkiCommand.home],
        positionals: [
            Positional(
                "FILE", help: "what to encrypt; '-' is standard input, and then the result goes to standard output",
                required: true, completion: .file)
        ],
        exits: [
            .init(.ok), .init(.notFound, "no key has this name, or several have it"),
            .init(.auth, "the passphrase is wrong"),
            .init(.integrity, "the signing key is damaged"),
            .init(.refused, "the result exists already, or FILE is too large"),
            .init(.unsupported, "the signing key is encrypted in an unknown way"),
            .init(.inputNeeded, "no source gives the passphrase of the signing key"),
        ],
        examples: [
            .init("vaultctl pki encrypt --recipient Bert plan.txt", "Writes plan.txt.enc."),
            .init(
                "tar c notes | vaultctl pki encrypt --recipient 51b0 --sign-with ann - > notes.tar.enc",
                "Encrypts and signs what comes through a pipe."),
        ],
        document: .init(
            "vaultctl/pki-encrypt/1",
            "path, bytes, recipients[{label,fingerprint,signing_fingerprint}], signer{...} (null when not signed)"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let names = try call.arguments.all(recipient).map { try call.text($0, of: "option '--recipient'") }
        guard let name = names.first else { throw Usage.error("'pki encrypt' needs --recipient", about: [call.verb]) }
        guard names.count == 1 else {
            throw Usage.error("an encrypted file has one recipient", hint: "vaultctl pki seal")
        }
        let store = try PkiStore(call)
        let file = InputFile(call: call, typed: call.arguments.allPositionals.first ?? [])
        let place = try ResultPlace(call, output, otherwise: file.named(adding: ".enc"))
        let known = try store.keys.recipient(named: PkiStore.checked(name, call))
        let signer = call.has(PkiCommand.signWith) ? try store.identity(of: PkiCommand.signWith) : nil
        if signer != nil {
            try PassphraseInput(call: call).checkStandardInput(isTaken: file.isStandardInput)
        }
        let key = try signer.map { try store.signingKey(of: $0) }
        let count = try place.seal(try file.message(), to: .one(known.identity.encryption), signer: key)
        guard !place.isStandardOutput else { return .ok }
        return try call.answer(
            EncryptAnswer(
                verb: "Encrypted", files: [(place, count)], recipients: [known.identity],
                signer: signer?.identity, isList: false))
    }
}

extension InputFile {
    /// A message: a regular file is read while it is sealed.
    func message() throws -> Message {
        let (limit, purpose) = (
            SealedEnvelope.maximumPlaintextCount, "one message holds; put it into a vault, or split it"
        )
        guard let (file, count) = try regularFile(limit: limit, purpose) else {
            return .bytes(try bytes(limit: limit, purpose))
        }
        return .file(file, count: count, name: name)
    }

    private static let envelopePurpose = "an encrypted file has"

    /// An envelope, read.
    func envelope() throws -> EnvelopeText {
        try EnvelopeText(try bytes(limit: SealedEnvelope.maximumEnvelopeCount, Self.envelopePurpose))
    }

    /// Opens an envelope; a regular file is read while the key is made ready, which can take as long.
    func opened(signers: KnownSigners, with key: () throws -> EncryptionPrivateKey) throws -> OpenedEnvelope {
        let limit = SealedEnvelope.maximumEnvelopeCount
        guard let (file, count) = try regularFile(limit: limit, Self.envelopePurpose) else {
            let key = try key()
            return try SealedEnvelope.open(try envelope(), with: key, signers: signers)
        }
        let read = Locked<EnvelopeText?>(nil)
        do {
            let readFile: @Sendable () throws -> Void = {
                // Nobody else asks for the lock until this thread has ended.
                try read.withLock { $0 = try EnvelopeText(try file.readToEnd(limit: limit, sizeHint: count)) }
            }
            let key = try WorkerPool.concurrently(readFile, beside: key).1
            guard let text = read.withLock({ $0.take() }) else { throw Errno.outOfMemory }
            return try SealedEnvelope.open(text, with: key, signers: signers)
        } catch let error as Errno {
            throw failure(error, limit, Self.envelopePurpose)
        }
    }

    /// Where a result goes by default: beside the file; nil, standard output, for what came from standard input.
    func named(adding suffix: String) -> [UInt8]? {
        isStandardInput ? nil : typed + Array(suffix.utf8)
    }

    /// The name without the ending that the other direction added; with `.dec` where there is none.
    func named(removing suffix: String) -> [UInt8]? {
        guard !isStandardInput else { return nil }
        let ending = Array(suffix.utf8)
        let name = FilePath(bytes: typed).lastComponent ?? []
        guard name.count > ending.count, typed.suffix(ending.count).elementsEqual(ending) else {
            return named(adding: ".dec")
        }
        return Array(typed.dropLast(ending.count))
    }
}

/// Files that were encrypted, told.
struct EncryptAnswer: Rendered {
    let verb: String
    let files: [(place: ResultPlace, bytes: Int)]
    let recipients: [PublicIdentity]
    let signer: PublicIdentity?
    /// Whether the verb takes several files.
    let isList: Bool

    func writeText(to text: TextRenderer) throws {
        for file in files { try text.line("\(verb) to \(file.place.shown)") }
        for recipient in recipients { try text.line("Recipient: \(PkiStore.named(recipient))") }
        try text.line(signer.map { "Signed by: \(PkiStore.named($0))" } ?? "Not signed")
    }

    func jsonMembers() -> [JSONMember] {
        let written = files.map { [JSONMember].record(["path": $0.place.json, "bytes": .count($0.bytes)]) }
        return (isList ? .record(["files": .array(written.map { .object($0) })]) : written.first ?? [])
            + .record([
                "recipients": .array(recipients.map { .object(JSONValue.identity($0)) }),
                "signer": signer.map { .object(JSONValue.identity($0)) } ?? .null,
            ])
    }
}
