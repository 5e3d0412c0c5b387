internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki sign`.
enum PkiSignCommand {
    static let manifest = OptionSpec.flag("--manifest", help: "FILE is a folder: all of its files are meant")
    static let output = PkiCommand.output(
        "write the signature (with --manifest: the list, and the signature beside it) to FILE")

    static let verb = Verb(
        words: ["pki", "sign"], group: .identities, summary: "sign a file, or all files of a folder",
        paragraph: """
            Writes FILE.sig, which 'pki verify' and sgit check. With --manifest it writes DIR.sha256, the SHA-256 of every \
            file below DIR as 'sha256sum -c' reads it, and signs that: DIR.sha256.sig. A folder with a link or a special \
            file in it is refused, because they can not be signed. A signature covers content, not names or times; a \
            manifest covers the names too. The signer is --sign-with, else your only key pair. NAME is \
            \(PkiCommand.naming).
            """,
        synopsis: [
            "pki sign [--sign-with NAME] [-o FILE] [--force] [--home DIR] FILE",
            "pki sign --manifest [--sign-with NAME] [-o FILE] [--force] [--home DIR] DIR",
        ],
        options: [manifest, PkiCommand.signWith, output, PkiCommand.force, PkiCommand.home],
        positionals: [
            Positional(
                "FILE", help: "what to sign; '-' is standard input, and then the signature goes to standard output",
                required: true, completion: .file)
        ],
        exits: [
            .init(.ok), .init(.notFound, "no key pair has this name, or several have it"),
            .init(.auth, "the passphrase is wrong"),
            .init(.integrity, "the key is damaged"),
            .init(.refused, "the result exists already, or the folder holds what can not be signed"),
            .init(.unsupported, "the key is encrypted in an unknown way"),
            .init(.inputNeeded, "no source gives the passphrase"),
        ],
        examples: [
            .init("vaultctl pki sign release.tar", "Writes release.tar.sig."),
            .init("vaultctl pki sign --manifest --sign-with ann photos", "Writes photos.sha256 and photos.sha256.sig."),
        ],
        document: .init(
            "vaultctl/pki-sign/1",
            "path, manifest (null without --manifest), files (their number, null without --manifest), signer{label,"
                + "fingerprint,signing_fingerprint}"),
        changes: true,
        action: .local { call in try call.has(manifest) ? signFolder(call) : signFile(call) })

    private static func signFile(_ call: Call) throws -> ExitCode {
        let store = try PkiStore(call)
        let file = InputFile(call: call, typed: call.arguments.allPositionals.first ?? [])
        let place = try ResultPlace(call, output, otherwise: file.named(adding: ".sig"))
        let signer = try store.identity(of: PkiCommand.signWith)
        try PassphraseInput(call: call).checkStandardInput(isTaken: file.isStandardInput)
        // Nobody is asked for a passphrase because of a file that is not there.
        let content = try file.content()
        let key = try store.signingKey(of: signer)
        let signature = try call.stoppable {
            switch content {
            case .file(let open):
                try DetachedSignature.sign(
                    reading: open, name: file.name, with: key, cancellation: call.surroundings.cancellation)
            case .bytes(let bytes): try DetachedSignature.sign(bytes, with: key)
            }
        }
        try place.write(signature.bytes())
        guard !place.isStandardOutput else { return .ok }
        return try call.answer(SignAnswer(place: place, manifest: nil, files: nil, signer: signer.identity))
    }

    private static func signFolder(_ call: Call) throws -> ExitCode {
        let store = try PkiStore(call)
        let folder = try SignedFolder(call, call.arguments.allPositionals.first ?? [])
        let name = call.arguments.last(output) ?? folder.manifestName
        guard let name, name != InputFile.standardInput else {
            throw Usage.error("the manifest needs a name: -o FILE", about: [call.verb])
        }
        let list = try ResultPlace(call, at: name)
        let place = try ResultPlace(call, at: name + SignedFolder.signatureEnding)
        let signer = try store.identity(of: PkiCommand.signWith)
        let key = try store.signingKey(of: signer)
        let manifest = try folder.scan(leavingOut: name)
        let bytes = manifest.bytes()
        let signature = try DetachedSignature.sign(bytes, with: key)
        try list.write(bytes)
        try place.write(signature.bytes())
        return try call.answer(
            SignAnswer(place: place, manifest: list, files: manifest.entries.count, signer: signer.identity))
    }
}

/// A signature that was written, told.
private struct SignAnswer: Rendered {
    let place: ResultPlace
    let manifest: ResultPlace?
    let files: Int?
    let signer: PublicIdentity

    func writeText(to text: TextRenderer) throws {
        if let manifest, let files {
            try text.line("Manifest of \(text.counted(files, "file")) written to \(manifest.shown)")
        }
        try text.line("Signature written to \(place.shown)")
        try text.line("Signed by: \(PkiStore.named(signer))")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "path": place.json, "manifest": manifest?.json ?? .null, "files": .optional(files),
            "signer": .object(JSONValue.identity(signer)),
        ])
    }
}
