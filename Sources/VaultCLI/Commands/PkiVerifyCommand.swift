internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki verify`.
enum PkiVerifyCommand {
    private static let signatureLimit = 64 << 10
    private static let manifestLimit = 256 << 20

    static let verb = Verb(
        words: ["pki", "verify"], group: .identities, summary: "check a signature of a file or of a folder",
        paragraph: """
            Tells whether a signature belongs to a file and who made it: a contact, or one of your own key pairs. SIG is \
            FILE.sig when left out. With --manifest every file of DIR is compared with the signed list, DIR.sha256 or SIG \
            without '.sig'; what changed, is missing or was added makes it invalid. A valid signature is exit 0, an \
            invalid one 1, one by a key that is not known here 3, and what is no signature 8. Anybody among your contacts \
            can be the signer, unless --signed-by names the only one who may: scripts should. NAME is \
            \(PkiCommand.naming).
            """,
        synopsis: [
            "pki verify [--signed-by NAME] [--home DIR] FILE [SIG]",
            "pki verify --manifest [--signed-by NAME] [--home DIR] DIR [SIG]",
        ],
        options: [PkiSignCommand.manifest, PkiCommand.signedBy, PkiCommand.home],
        positionals: [
            Positional("FILE", help: "what was signed; '-' is standard input", required: true, completion: .file),
            Positional("SIG", help: "the signature", completion: .file),
        ],
        exits: [
            .init(.ok, "the signature is valid"),
            .init(.negative, "the signature is not valid, or by another signer than the demanded one"),
            .init(.notFound, "the signer is not known, or no key has the name that was given"),
            .init(.integrity, "it is no signature, or no manifest"),
        ],
        examples: [
            .init("vaultctl pki verify --signed-by Ann release.tar", "Checks release.tar.sig, which has to be by Ann."),
            .init("vaultctl pki verify --manifest photos", "Checks photos.sha256.sig and every file of the folder."),
        ],
        document: .init(
            "vaultctl/pki-verify/1",
            "valid, signing_fingerprint, signer_label, signer_source, error (null when valid), and with --manifest: "
                + "files, changed[], missing[], unexpected[]"),
        action: .local { call in try call.has(PkiSignCommand.manifest) ? verifyFolder(call) : verifyFile(call) })

    /// A signer for a line of text.
    static func signer(_ key: KnownKey) -> String {
        let label = TextSafety.label(key.identity.label)
        return "\(label), \(key.identity.signingFingerprint?.text ?? ""), \(key.source.rawValue)"
    }

    private static func verifyFile(_ call: Call) throws -> ExitCode {
        let file = InputFile(call: call, typed: call.arguments.allPositionals.first ?? [])
        let typed = call.arguments.allPositionals.dropFirst().first ?? file.named(adding: ".sig")
        guard let typed else {
            throw Usage.error("the signature of standard input has to be named", about: [call.verb])
        }
        let store = try PkiStore(call)
        let demanded = try store.demandedSigner()
        let signature = try signature(call, typed, file)
        let signers = try store.keys.knownSigners(preferring: demanded)
        let content = try file.content()
        let verdict = try call.stoppable {
            switch content {
            case .file(let open):
                try signature.verify(
                    reading: open, name: file.name, signers: signers, cancellation: call.surroundings.cancellation)
            case .bytes(let bytes): try signature.verify(bytes, signers: signers)
            }
        }
        return try VerifyAnswer(verdict, signature, demanded).answer(call)
    }

    private static func verifyFolder(_ call: Call) throws -> ExitCode {
        let folder = try SignedFolder(call, call.arguments.allPositionals.first ?? [])
        let ending = SignedFolder.signatureEnding
        let typed = call.arguments.allPositionals.dropFirst().first ?? folder.manifestName.map { $0 + ending }
        guard let typed, typed.count > ending.count, typed.suffix(ending.count).elementsEqual(ending) else {
            throw Usage.error(
                "the signature has to be named, and its name is that of the manifest and '.sig'", about: [call.verb])
        }
        let list = InputFile(call: call, typed: Array(typed.dropLast(ending.count)))
        let store = try PkiStore(call)
        let demanded = try store.demandedSigner()
        let signature = try signature(call, typed, list)
        let bytes = try list.bytes(limit: manifestLimit, "a manifest has")
        let signers = try store.keys.knownSigners(preferring: demanded)
        let verdict = try signature.verify(bytes, signers: signers)
        let manifest = try FolderManifest(parsing: bytes)
        let answer = VerifyAnswer(verdict, signature, demanded)
        // What nobody vouches for, or another than was asked for, is not looked at.
        guard case .valid = verdict, !answer.isByAnother else { return try answer.answer(call) }
        return try VerifyAnswer(
            verdict, signature, demanded, files: manifest.entries.count,
            differences: try folder.differences(from: manifest, leavingOut: list.typed)
        ).answer(call)
    }

    private static func signature(_ call: Call, _ typed: [UInt8], _ file: InputFile) throws -> DetachedSignature {
        let input = InputFile(call: call, typed: typed)
        guard !input.isStandardInput || !file.isStandardInput else {
            throw Usage.error("standard input gives the file or the signature, not both", about: [call.verb])
        }
        do {
            return try DetachedSignature(parsing: try input.bytes(limit: signatureLimit, ""))
        } catch let error as VaultError where error.code == .refused {
            throw VaultError(.objectCorrupt, "\(input.name) is too large for a signature", path: error.path)
        }
    }
}

/// What a signature is worth, told.
private struct VerifyAnswer: Rendered {
    let verdict: SignatureVerdict
    let claimed: String
    /// Who has to be the signer; nil for anybody.
    let demanded: PublicIdentity?
    let files: Int?
    let differences: ManifestDifferences?

    init(
        _ verdict: SignatureVerdict, _ signature: DetachedSignature, _ demanded: PublicIdentity?, files: Int? = nil,
        differences: ManifestDifferences? = nil
    ) {
        self.verdict = verdict
        self.demanded = demanded
        claimed = signature.claimedSigner
        self.files = files
        self.differences = differences
    }

    func answer(_ call: Call) throws -> ExitCode {
        switch verdict {
        case .valid: try call.answer(self, exit: error == nil ? .ok : .negative)
        case .invalid: try call.answer(self, exit: .negative)
        case .unknownSigner: try call.answer(self, exit: .notFound)
        }
    }

    /// Whether it is valid and not by whom it has to be.
    var isByAnother: Bool {
        guard case .valid = verdict, let demanded else { return false }
        return !verdict.isValid(by: demanded)
    }

    /// Why it is not valid.
    private var error: String? {
        switch verdict {
        case .valid:
            if let demanded, isByAnother { return "it is not signed by \(PkiStore.named(demanded))" }
            guard let differences, !differences.isEmpty else { return nil }
            return "the folder is not what was signed"
        case .invalid: return "the signature does not belong to this content"
        case .unknownSigner: return "no contact or own key has the signing fingerprint \(claimed.quotedForDisplay)"
        }
    }

    private var key: KnownKey? {
        switch verdict {
        case .valid(let key), .invalid(let key): key
        case .unknownSigner: nil
        }
    }

    func writeText(to text: TextRenderer) throws {
        let signer = key.map { " (signer: \(PkiVerifyCommand.signer($0)))" } ?? ""
        switch verdict {
        case .valid where isByAnother: try text.line("Signed by SOMEBODY ELSE\(signer): \(error ?? "")")
        case .valid: try text.line("Signature valid\(signer)")
        case .invalid: try text.line("Signature INVALID\(signer)")
        case .unknownSigner: try text.line("Signer unknown: \(error ?? "")")
        }
        guard let differences, let files else { return }
        guard !differences.isEmpty else { return try text.line("All \(text.counted(files, "file")) as signed") }
        try text.line("The folder is NOT what was signed:")
        for path in differences.changed { try text.path("M", path, as: .changed, indent: 2) }
        for path in differences.missing { try text.path("D", path, as: .bad, indent: 2) }
        for path in differences.unexpected { try text.path("A", path, as: .bad, indent: 2) }
    }

    func jsonMembers() -> [JSONMember] {
        func names(_ paths: [[UInt8]]) -> JSONValue { .array(paths.map { .name($0) }) }
        var members: [JSONMember] = .record([
            "valid": .bool(error == nil), "signing_fingerprint": .string(claimed),
            "signer_label": .optional(key?.identity.label), "signer_source": .optional(key?.source.rawValue),
            "error": .optional(error),
        ])
        guard let differences, let files else { return members }
        members += .record([
            "files": .count(files), "changed": names(differences.changed), "missing": names(differences.missing),
            "unexpected": names(differences.unexpected),
        ])
        return members
    }
}
