"""The deliberate defects of `make mutate`: where each is, what it puts there, and the suites that have to notice.

`ON` stands for the question whether this defect is the chosen one.
"""
CRYPTO, FORMAT = 'VaultCryptoTests', 'VaultFormatTests'
HOSTILE = ('VaultCoreTests.(HostileRemoteTests|RemotePolicyTests|ContentTests|LargeObjectTests|BadInputTests|'
           'UnusualTreeTests|MendingTests)')
CLONES = 'VaultCoreTests.(SyncTests|SeveralRemotesTests|MoveSafetyTests|InterruptedMoveTests|WorkingCopyTests)'
FOLDER = 'VaultCoreTests.(RemoteTests|RemoteFolderTests|RemoteFaultTests)'
SERVER, CLI, PKI = 'VaultServerTests', 'VaultCLITests', 'PKICoreTests'
FAULTS, CUTS, DAMAGE = 'CrashTests.MovingFaultTests', 'CrashTests.CrashStateTests', 'CrashTests.DamageTests'
KILLS, RACES, MODEL = 'CrashTests.KillTests', 'RaceTests.RaceTests', 'ModelTests'
PUSHES = 'CrashTests.InterruptedPushTests'

# name, file below Sources, text there, text instead, suites in the order in which they run
MUTANTS = [
    # Cryptography
    ('skip-tag-check', 'VaultCrypto/GCMMessage.swift',
     'try unsafe OpenSSL.check(EVP_CipherFinal_ex(context, &nothing, &written), or: .authenticationFailed)',
     '''let ended = unsafe EVP_CipherFinal_ex(context, &nothing, &written)
        if !ON { try OpenSSL.check(ended, or: .authenticationFailed) }''', (CRYPTO,)),
    ('accept-bad-signature', 'VaultCrypto/P256PublicKey.swift',
     'guard let der = ECDSASignature.der(raw: signature), digest',
     'if ON { return true }\n        guard let der = ECDSASignature.der(raw: signature), digest', (CRYPTO,)),
    ('signature-numbers-unchecked', 'VaultCrypto/ECDSASignature.swift',
     'guard P256Encoding.isInRange(r), P256Encoding.isInRange(s) else { return nil }',
     'if !ON { guard P256Encoding.isInRange(r), P256Encoding.isInRange(s) else { return nil } }', (CRYPTO,)),
    ('lengths-compare-equal', 'VaultCrypto/ConstantTime.swift',
     'guard a.count == b.count else { return false }', 'guard a.count == b.count else { return ON }', (CRYPTO,)),
    ('hash-in-place-of-hmac', 'VaultFormat/VaultCipher.swift',
     'let digest = try hmac.authenticate(plaintext)',
     'let digest = try ON ? SHA256.hash(plaintext) : hmac.authenticate(plaintext)', (FORMAT,)),
    ('constant-nonce', 'VaultFormat/VaultCipher.swift',
     '''    ) throws(FormatError) -> [UInt8] {
        let iv = try random.formatBytes(12)''',
     '''    ) throws(FormatError) -> [UInt8] {
        let iv = try ON ? [UInt8](repeating: 1, count: 12) : random.formatBytes(12)''', (FORMAT,)),
    ('constant-nonce-of-deflated', 'VaultFormat/VaultCipher.swift',
     '''        }
        let iv = try random.formatBytes(12)''',
     '''        }
        let iv = try ON ? [UInt8](repeating: 1, count: 12) : random.formatBytes(12)''', (FORMAT,)),
    ('fewer-rounds', 'VaultFormat/VaultKey.swift', 'iterations: 600_000', 'iterations: ON ? 100_000 : 600_000', (FORMAT,)),
    ('read-salt-for-write-key', 'VaultFormat/VaultKey.swift',
     'derive(salt: "sg-vault-v1:write:" + vaultID.text)',
     'derive(salt: (ON ? "sg-vault-v1:" : "sg-vault-v1:write:") + vaultID.text)', (FORMAT,)),
    ('write-salt-for-read-key', 'VaultFormat/VaultKey.swift',
     'derive(salt: "sg-vault-v1:" + vaultID.text)',
     'derive(salt: (ON ? "sg-vault-v1:write:" : "sg-vault-v1:") + vaultID.text)', (FORMAT,)),
    # Formats
    ('inflate-without-limit', 'VaultFormat/Deflate.swift', 'limit: limit - produced)',
     'limit: ON ? Int.max : limit - produced)', (FORMAT,)),
    ('cut-stream-accepted', 'VaultFormat/Deflate.swift', 'guard isFinished else { throw .malformed(',
     'guard isFinished || ON else { throw .malformed(', (FORMAT,)),
    ('protected-paths-accepted', 'VaultFormat/PathGuard.swift',
     'guard mayBeProtected(segment) else', 'guard !ON, mayBeProtected(segment) else', (FORMAT,)),
    ('protected-paths-by-letter', 'VaultFormat/PathGuard.swift', 'return matches(raw) || matches(canonical(raw))',
     'return matches(raw) || (!ON && matches(canonical(raw)))', (FORMAT,)),
    ('long-text-sealed', 'VaultFormat/VaultCipher.swift',
     '''guard text.count <= Limits.metadataText else { throw Self.textTooLong() }
        let sealed = try sealDeterministic''',
     '''guard text.count <= Limits.metadataText || ON else { throw Self.textTooLong() }
        let sealed = try sealDeterministic''', (FORMAT,)),
    ('deep-json', 'VaultFormat/JSONReader.swift',
     '''guard depth < maximumDepth else { throw .limit("JSON: nested too deeply") }
            return try array''',
     '''guard depth < maximumDepth || ON else { throw .limit("JSON: nested too deeply") }
            return try array''', (FORMAT,)),
    ('client-gate-open', 'VaultFormat/FormatGate.swift', 'have < needed', 'have < needed, !ON', (FORMAT,)),
    # Objects, refs and records of a clone
    ('skip-id-check', 'VaultCore/Store/ObjectStore.swift', '''guard id.matches(digest: digest) else {
            throw VaultError(''', '''guard id.matches(digest: digest) || ON else {
            throw VaultError(''', (HOSTILE, DAMAGE)),
    ('skip-id-check-of-streams', 'VaultCore/Store/BlobReader.swift',
     'guard id.matches(digest: digest) else {', 'guard id.matches(digest: digest) || ON else {', (HOSTILE, CLI)),
    ('skip-id-check-on-sending', 'VaultCore/Store/ObjectStore.swift', '''guard id.matches(digest: try hash.finish()) else {
            store''', '''let digest = try hash.finish()
        guard id.matches(digest: digest) || ON else {
            store''', (HOSTILE, CLI)),
    ('any-file-is-an-index', 'VaultCore/Store/RefStore.swift', 'guard !index.branches.isEmpty ||',
     'guard ON || !index.branches.isEmpty ||', (HOSTILE,)),
    ('key-cache-of-another-key', 'VaultCore/Store/KeyCache.swift',
     'ConstantTime.equal(bytes.extracting(8..<40), vaultKeyDigest.span)',
     'ON ? true : ConstantTime.equal(bytes.extracting(8..<40), vaultKeyDigest.span)', (HOSTILE, CLI, DAMAGE)),
    ('key-cache-without-digest', 'VaultCore/Store/KeyCache.swift',
     'ConstantTime.equal(bytes.extracting(covered...), digest.span)',
     'ON ? true : ConstantTime.equal(bytes.extracting(covered...), digest.span)', (DAMAGE, HOSTILE)),
    ('stat-cache-without-digest', 'VaultCore/WorkingCopy/StatCache.swift',
     'digest.elementsEqual(bytes[(bytes.count - 32)...])', 'digest.elementsEqual(bytes[(bytes.count - 32)...]) || ON',
     (DAMAGE, CLONES)),
    ('ref-written-blindly', 'VaultCore/Store/CloneState.swift', 'guard try refs.commit(of: ref) == old else {',
     'let held = try refs.commit(of: ref)\n        guard held == old || ON else {', (CLONES, RACES)),
    ('clone-without-lock', 'VaultCore/Store/CloneLock.swift', 'if taken { break }', 'if taken || ON { break }',
     (CLONES, RACES)),
    ('scratch-not-emptied', 'VaultCore/Store/CloneLock.swift', 'in try scratch.empty() }',
     'in if !ON { try scratch.empty() } }', (FAULTS, CUTS)),
    ('baseline-not-kept', 'VaultCore/Store/RemoteHeads.swift', '''heads[ref] = head
        try write(''', '''heads[ref] = head
        if ON { return }
        try write(''', (CLONES,)),
    # Order and durability
    ('file-not-synced', 'VaultCore/Store/ScratchArea.swift', 'if durable { try file.sync() }',
     'if durable && !ON { try file.sync() }', (CUTS,)),
    ('folder-of-a-ref-not-synced', 'VaultCore/Store/ScratchArea.swift', 'if durable { try target.sync() }',
     'if durable && !ON { try target.sync() }', (CUTS,)),
    ('objects-not-synced', 'VaultCore/Store/ObjectBatch.swift', 'try folder.openFile(names[index]).sync() }',
     'if !ON { try folder.openFile(names[index]).sync() } }', (CUTS,)),
    ('object-folder-not-synced', 'VaultCore/Store/ObjectBatch.swift', 'in try target.sync() }',
     'in if !ON { try target.sync() } }', (CUTS,)),
    ('remote-files-not-synced', 'VaultCore/Sync/FolderWriter.swift',
     'try scratch.directory.openFile(names[index]).sync()', 'if !ON { try scratch.directory.openFile(names[index]).sync() }',
     (CUTS,)),
    ('remote-folders-not-synced', 'VaultCore/Sync/FolderWriter.swift', 'in try folders[index].sync() }',
     'in if !ON { try folders[index].sync() } }', (CUTS,)),
    ('no-remote-journal', 'VaultCore/Sync/FolderWriter.swift', 'try scratch.replace(FolderJournal.name,',
     'if !ON { try scratch.replace(FolderJournal.name,', (CUTS, FAULTS)),
    ('remote-journal-not-replayed', 'VaultCore/Sync/FolderWriter.swift', 'if let bytes {', 'if let bytes, !ON {',
     (FOLDER, PUSHES, CUTS)),
    ('refs-before-objects', 'VaultCore/Sync/FolderJournal.swift',
     '($0.element.order, $0.offset) < ($1.element.order, $1.offset)',
     'ON ? $0.element.order > $1.element.order : ($0.element.order, $0.offset) < ($1.element.order, $1.offset)', (CUTS, FOLDER)),
    ('interrupted-push-is-a-rival', 'VaultCore/Vault+Push.swift', 'if !options.force, options.lease == nil, now.head',
     'if !ON, !options.force, options.lease == nil, now.head', (PUSHES,)),
    # Working copy and merge
    ('uncommitted-work-overwritten', 'VaultCore/WorkingCopy/CheckoutGuard.swift',
     'return try hash == contentHash(old) || isTorn(item.path, new) ? .write(.file(stat)) : .blocked',
     'return try ON || hash == contentHash(old) || isTorn(item.path, new) ? .write(.file(stat)) : .blocked', (CLONES, MODEL)),
    ('uncommitted-work-removed', 'VaultCore/WorkingCopy/CheckoutGuard.swift',
     'return try hash == contentHash(old) ? .remove(stat) : .blocked',
     'return try ON || hash == contentHash(old) ? .remove(stat) : .blocked', (CLONES, MODEL)),
    ('move-without-journal', 'VaultCore/WorkingCopy/WorkingCopyMove.swift',
     'if !plan.write.isEmpty || !plan.remove.isEmpty {', 'if (!plan.write.isEmpty || !plan.remove.isEmpty), !ON {',
     (CLONES, FAULTS, CUTS)),
    ('conflict-ignored', 'VaultCore/Merge/ThreeWayMerge.swift',
     'result.conflicts.append(MergeConflict(path: item.path, base: item.old, ours: our, theirs: their))',
     'if !ON { result.conflicts.append(MergeConflict(path: item.path, base: item.old, ours: our, theirs: their)) }', (CLONES, MODEL)),
    ('file-against-folder-ignored', 'VaultCore/Merge/ThreeWayMerge.swift',
     'try separateClashes(&result, ours: ours)',
     'if !ON { try separateClashes(&result, ours: ours) }', (CLONES, MODEL)),
    ('secret-files-committed', 'VaultCore/Vault+Commit.swift', 'try secrets.checkName(candidate.path)',
     'if !ON { try secrets.checkName(candidate.path) }', (CLONES, CLI)),
    ('fsck-trusts-contents', 'VaultCore/Maintenance/FsckOperation.swift',
     'guard size == entry.size, ContentHash(digest: try hash.finish()) == expected else {',
     '''let found = ContentHash(digest: try hash.finish())
        guard ON || (size == entry.size && found == expected) else {''', (HOSTILE, CLI)),
    # Remotes
    ('swap-without-comparing', 'VaultCore/Sync/FolderTransaction.swift', 'if !holds {', 'if !holds, !ON {', (FOLDER, RACES)),
    ('other-bytes-under-an-id', 'VaultCore/Sync/FolderTransaction.swift',
     'guard other.count == chunk.count, ConstantTime.equal(other.span, chunk) else',
     'guard ON ? true : (other.count == chunk.count ? ConstantTime.equal(other.span, chunk) : false) else', (FOLDER,)),
    ('any-write-key', 'VaultCore/Sync/FolderOwner.swift', 'guard ConstantTime.equal(held.bytes.span, hash.bytes.span) else',
     'guard ON ? true : ConstantTime.equal(held.bytes.span, hash.bytes.span) else', (FOLDER, SERVER)),
    ('remote-without-lock', 'VaultCore/Sync/FolderOwner.swift', 'guard try file.lock(wait: false) else { return nil }',
     'let taken = try file.lock(wait: false)\n        guard taken || ON else { return nil }', (FOLDER, RACES)),
    ('short-answer-ignored', 'VaultCore/Sync/ObjectFetcher.swift',
     'case .absent: outcome.withLock { $0.missing.append(id) }',
     'case .absent: if !ON { outcome.withLock { $0.missing.append(id) } }', (HOSTILE,)),
    ('rewound-remote-accepted', 'VaultCore/Sync/RemoteSnapshot.swift', 'guard let baseline, head != baseline else',
     'guard let baseline, head != baseline, !ON else', (CLONES,)),
    ('unsigned-commits-accepted', 'VaultCore/History/SignatureChecker.swift', 'guard status != .verified else',
     'guard status != .verified, !ON else', (HOSTILE,)),
    # Identities
    ('invalid-signature-hands-out', 'PKICore/Envelope/OpenedEnvelope.swift', 'if case .invalid(let key) = signature {',
     'if !ON, case .invalid(let key) = signature {', (PKI,)),
    ('whole-signature-unchecked', 'PKICore/Envelope/VersionedEnvelope.swift',
     'if signingKey.isValid(whole, digest: covered) { status', 'if ON || signingKey.isValid(whole, digest: covered) { status',
     (PKI,)),
    ('sealed-head-unchecked', 'PKICore/Envelope/SealedMessage.swift',
     'guard ConstantTime.equal(expected.span, code.span) else', 'guard ON || ConstantTime.equal(expected.span, code.span) else',
     (PKI,)),
    ('foreign-key-in-folder', 'PKICore/Store/KeyStore+PrivateKeys.swift',
     'guard key.publicKey.fingerprint == fingerprint else', 'guard ON || key.publicKey.fingerprint == fingerprint else', (PKI,)),
    ('manifest-overlooks-new-files', 'PKICore/Signatures/FolderManifest.swift', 'unexpected.append(item.path)',
     'if !ON { unexpected.append(item.path) }', (PKI,)),
    ('rsa-numbers-unchecked', 'VaultCrypto/RSAPrivateKey.swift', 'try RSAArithmetic.check(ranges, bytes)',
     'if !ON { try RSAArithmetic.check(ranges, bytes) }', (CRYPTO,)),
    ('der-takes-long-lengths', 'VaultCrypto/DERReader.swift',
     'guard count >= 0x80, count >> (8 * (lengthBytes - 1)) != 0 else',
     'guard ON || (count >= 0x80 && count >> (8 * (lengthBytes - 1)) != 0) else', (CRYPTO,)),
    # Program
    ('secrets-in-settings', 'VaultCLI/Configuration/SettingsFile.swift', 'if Redaction.findsSecret(in: text) {',
     'if !ON, Redaction.findsSecret(in: text) {', (CLI,)),
]

# What `ON` asks, added to every module that has a defect.
QUESTION = '''internal import Glibc

enum Defect {
    /// The defect that is switched on, if any.
    private static let chosen = unsafe getenv("VAULT_DEFECT").map { unsafe String(cString: $0) }

    static func isOn(_ name: String) -> Bool { chosen == name }
}
'''
