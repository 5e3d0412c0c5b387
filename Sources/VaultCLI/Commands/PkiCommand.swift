internal import PKICore
internal import VaultCore
internal import VaultFormat

/// What the verbs `vaultctl pki ACTION` share: their options, and names of keys.
enum PkiCommand {
    static let home = OptionSpec.value(
        "--home", argument: "DIR", help: "the key store; otherwise keys.store, which is ~/.sg-send", completion: .folder
    )
    static let force = OptionSpec.flag("--force", help: "replace a file that stands where the result goes")
    static let contact = OptionSpec.flag("--contact", help: "NAME is a contact and no key pair of yours")
    static let label = OptionSpec.value("--label", argument: "TEXT", help: "what the identity is called (default)")
    static let signWith = OptionSpec.value(
        "--sign-with", "--fingerprint", argument: "NAME", help: "the key pair that signs",
        completion: .keyPair)
    static let openWith = OptionSpec.value(
        "--fingerprint", argument: "NAME", help: "the key pair that opens it; not needed when there is only one",
        completion: .keyPair)

    static let signedBy = OptionSpec.value(
        "--signed-by", argument: "NAME", help: "the contact or key pair that has to be the signer",
        completion: .knownKey)

    static func output(_ what: String) -> OptionSpec {
        .value("-o", argument: "FILE", help: "\(what); '-' is standard output", completion: .file)
    }

    /// How keys are named, for the help of every verb that takes a name.
    static let naming =
        "a fingerprint, four or more of its first digits with or without 'sha256:', or a label"

    static let verbs: [Verb] = [
        PkiKeygenCommand.verb, PkiListCommand.verb, PkiShowCommand.verb, PkiIdCommand.verb, PkiExportCommand.verb,
        PkiImportCommand.verb, PkiContactsCommand.verb, PkiAdoptCommand.verb, PkiRenameCommand.verb,
        PkiDeleteCommand.verb, PkiSignCommand.verb, PkiVerifyCommand.verb, PkiEncryptCommand.verb,
        PkiDecryptCommand.verb, PkiSealCommand.verb, PkiOpenCommand.verb,
    ]
}

extension TextSafety {
    /// A label for a line of text: it was chosen by a stranger (spec 08 §5).
    static func label(_ label: String) -> String {
        label.isEmpty ? "(no label)" : label.labelForDisplay
    }
}

extension Call {
    /// Tells what a library warns of; it has quoted what strangers wrote.
    func tell(_ warnings: [PKIWarning]) {
        for warning in warnings { messages.warning(warning.message, isSecurity: true) }
    }
}

extension JSONValue {
    /// What a library warns of.
    static func warnings(_ warnings: [PKIWarning]) -> JSONValue {
        .array(warnings.map { .record(["code": .string($0.code), "message": .string($0.message)]) })
    }

    /// A public identity, the members every verb tells of one.
    static func identity(_ identity: PublicIdentity) -> [JSONMember] {
        .record([
            "label": .string(identity.label), "fingerprint": .string(identity.fingerprint.text),
            "signing_fingerprint": .optional(identity.signingFingerprint?.text),
        ])
    }
}
