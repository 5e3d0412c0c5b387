internal import VaultFormat
internal import VaultSystem

/// What became of an import.
public struct ContactImport: Sendable {
    /// The contact as it lies in the store now.
    public let contact: PublicIdentity
    /// Whether a contact of the same encryption key was there and gave way.
    public let replaced: Bool
    /// What a person should know before trusting it.
    public let warnings: [PKIWarning]
}

extension KeyStore {
    private static let suffix = ".json"

    /// Everybody whose bundle was imported and whose file is in order.
    ///
    /// Fingerprints are computed from the keys, whatever a file says.
    public func contacts() throws(PKIError) -> Listing<PublicIdentity> {
        guard let directory = try open(Self.contactsName) else { return Listing(items: [], warnings: []) }
        var items: [PublicIdentity] = []
        var warnings: [PKIWarning] = []
        for (fingerprint, name) in try fingerprints(in: directory, suffix: Self.suffix) {
            do throws(PKIError) {
                guard let bytes = try readIfPresent(name, in: directory) else { continue }
                let (contact, claimed) = try Self.readContact(bytes, fingerprint)
                items.append(contact)
                let computed = contact.signingFingerprint?.text ?? ""
                if !claimed.utf8.elementsEqual(computed.utf8) {
                    let kind = computed.isEmpty ? "has no signing key" : "has the signing key \(computed)"
                    warnings.append(
                        PKIWarning(
                            "wrong_fingerprint", "\(fingerprint) \(kind), and its file says \(claimed.quotedForDisplay)"
                        ))
                }
            } catch {
                warnings.append(PKIWarning("unreadable_contact", "\(fingerprint) is left out: \(error.message)"))
            }
        }
        var holders: [Fingerprint: Fingerprint] = [:]
        for contact in items {
            guard let signing = contact.signingFingerprint else { continue }
            if let other = holders.updateValue(contact.fingerprint, forKey: signing) {
                warnings.append(
                    PKIWarning(
                        "signing_key_shared", "\(other) and \(contact.fingerprint) have the same signing key \(signing)"
                    ))
            }
        }
        return Listing(items: items, warnings: warnings)
    }

    /// The contact that a person names: a fingerprint in any case, its first four digits or more, or a label.
    ///
    /// - Throws: `keyNotFound`, also when several are meant.
    public func contact(named name: String) throws(PKIError) -> PublicIdentity {
        try KeyReference(name).choose(
            from: try contacts().items, kind: "contact", hint: "see vaultctl pki contacts"
        ) { ($0.fingerprint, $0.label) }
    }

    /// Keeps somebody's public keys, with the text of the bundle as it came.
    ///
    /// A contact of the same encryption key is replaced, label included.
    ///
    /// * `replacingSigningKey`: Whether a known encryption key may get another signing key, and a known signing key
    ///   another encryption key. Anybody can put a key of their own beside a public key of somebody else, and would
    ///   sign in that person's name from then on, or have that person's signatures shown under another name.
    /// - Throws: `refused` when the fingerprint is that of a stored key which is another one, or when the signing key
    ///   is another one and must not be; `objectCorrupt` then too when the contact is there and damaged.
    public func importContact(
        _ bundle: PublicBundle, replacingSigningKey: Bool = false
    ) throws(PKIError) -> ContactImport {
        let contact = bundle.identity
        try checkLabel(contact.label)
        // What cannot be compared is not replaced.
        if !replacingSigningKey { try checkStored(contact.fingerprint) }
        let known = try knownKeys()
        let same = known.filter { $0.identity.fingerprint == contact.fingerprint }
        guard same.allSatisfy({ $0.identity.encryption == contact.encryption }) else {
            throw PKIError(
                .refused,
                "another key of the fingerprint \(contact.fingerprint) is known already: one of them is forged",
                hint: "ask its owner for the whole key")
        }
        if !replacingSigningKey, let before = same.first(where: { $0.identity.signing != contact.signing }) {
            throw PKIError(
                .refused,
                "the signing key of \(contact.fingerprint) \(before.identity.label.labelForDisplay) is "
                    + "\(Self.signingName(before.identity)) here and \(Self.signingName(contact)) in this bundle: "
                    + "anybody can pair the encryption key of others with a signing key of their own",
                hint: "compare both fingerprints with the owner; --force replaces the signing key")
        }
        if !replacingSigningKey, let signing = contact.signingFingerprint,
            let holder = known.first(where: {
                $0.identity.signingFingerprint == signing && $0.identity.fingerprint != contact.fingerprint
            })
        {
            throw PKIError(
                .refused,
                "the signing key \(signing) is that of \(holder.identity.fingerprint) "
                    + "\(holder.identity.label.labelForDisplay) already: anybody can pair the signing key of others "
                    + "with an encryption key of their own",
                hint: "compare both fingerprints with the owner; --force keeps both")
        }
        let value = JSONValue.record([
            "label": .string(contact.label), "fingerprint": .string(contact.fingerprint.text),
            "signing_fingerprint": .string(contact.signingFingerprint?.text ?? ""),
            "public_key_pem": .string(bundle.encryptionText), "signing_key_pem": .string(bundle.signingText),
        ])
        removeLeftovers()
        let directory = try openCreating(Self.contactsName)
        try write(
            JSONWriter.bytes(value, .pythonIndented2), as: Self.fileName(contact.fingerprint), in: directory,
            mode: IdentityFiles.publicMode)
        return ContactImport(
            contact: contact, replaced: same.contains { $0.source == .contact },
            warnings: bundle.warnings + Self.warnings(contact, known))
    }

    /// Gives a contact another label.
    /// - Throws: `keyNotFound`.
    public func renameContact(_ fingerprint: Fingerprint, to label: String) throws(PKIError) {
        try checkLabel(label)
        removeLeftovers()
        let name = Self.fileName(fingerprint)
        guard let directory = try open(Self.contactsName), let bytes = try readIfPresent(name, in: directory) else {
            throw Self.noContact(fingerprint)
        }
        _ = try Self.readContact(bytes, fingerprint)
        let value = try PKIDocument.object(bytes, limit: PKILimits.bundle, what: "the contact")
        try write(
            JSONWriter.bytes(Self.relabelled(value, label), .pythonIndented2), as: name, in: directory,
            mode: IdentityFiles.publicMode)
    }

    /// Removes a contact.
    /// - Throws: `keyNotFound`.
    public func deleteContact(_ fingerprint: Fingerprint) throws(PKIError) {
        removeLeftovers()
        let name = Self.fileName(fingerprint)
        guard let directory = try open(Self.contactsName) else { throw Self.noContact(fingerprint) }
        do throws(Errno) {
            try directory.removeFile(name)
            try directory.sync()
        } catch {
            if error == .noSuchFile { throw Self.noContact(fingerprint) }
            throw PKIError.io(error, "cannot remove \(fingerprint)", path: folder)
        }
    }

    /// Refuses a contact whose file is there and cannot be read.
    private func checkStored(_ fingerprint: Fingerprint) throws(PKIError) {
        guard let directory = try open(Self.contactsName),
            let bytes = try readIfPresent(Self.fileName(fingerprint), in: directory)
        else { return }
        do throws(PKIError) {
            _ = try Self.readContact(bytes, fingerprint)
        } catch {
            throw PKIError(
                .objectCorrupt, "the file of the contact \(fingerprint) is damaged: \(error.message)",
                hint: "--force replaces it")
        }
    }

    private static func fileName(_ fingerprint: Fingerprint) -> [UInt8] {
        fingerprint.fileName + Array(suffix.utf8)
    }

    private static func noContact(_ fingerprint: Fingerprint) -> PKIError {
        PKIError(.keyNotFound, "no contact \(fingerprint)", hint: "see vaultctl pki contacts")
    }

    /// A contact file, and the signing fingerprint that it claims.
    package static func readContact(
        _ bytes: [UInt8], _ fingerprint: Fingerprint
    ) throws(PKIError) -> (contact: PublicIdentity, claimed: String) {
        let what = "the contact"
        let value = try PKIDocument.object(bytes, limit: PKILimits.bundle, what: what)
        let contact = try PublicBundle.identity(
            label: try PKIDocument.optionalText(value, "label", what: what) ?? "",
            encryption: try PKIDocument.text(value, "public_key_pem", what: what),
            signing: try PKIDocument.optionalText(value, "signing_key_pem", what: what) ?? "")
        guard contact.fingerprint == fingerprint else {
            throw PKIError(.objectCorrupt, "its encryption key has the fingerprint \(contact.fingerprint)")
        }
        return (contact, try PKIDocument.optionalText(value, "signing_fingerprint", what: what) ?? "")
    }

    private static func signingName(_ identity: PublicIdentity) -> String {
        identity.signingFingerprint?.text ?? "none"
    }

    /// What speaks against trusting the keys of a bundle at first sight.
    private static func warnings(_ contact: PublicIdentity, _ known: [KnownKey]) -> [PKIWarning] {
        var warnings: [PKIWarning] = []
        if let signing = contact.signingFingerprint {
            for other in known
            where other.identity.signingFingerprint == signing && other.identity.fingerprint != contact.fingerprint {
                warnings.append(
                    PKIWarning(
                        "signing_key_known",
                        "the signing key \(signing) is that of \(other.identity.fingerprint) "
                            + "\(other.identity.label.labelForDisplay) already: anybody can pair it with keys of their own"
                    ))
            }
        }
        let before = known.first { $0.source == .contact && $0.identity.fingerprint == contact.fingerprint }?.identity
        if let before, before.signing != contact.signing {
            warnings.append(
                PKIWarning("signing_key_changed", "the contact had the signing key \(signingName(before)) before"))
        }
        if let before, !before.label.utf8.elementsEqual(contact.label.utf8) {
            warnings.append(
                PKIWarning("label_changed", "the contact was called \(before.label.labelForDisplay) before"))
        }
        return warnings
    }
}
