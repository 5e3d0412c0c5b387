internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The refs and the branch index of a clone, as encrypted files (spec 02 §6, §7).
final class RefStore: Sendable {
    private let layout: CloneLayout
    private let cipher: VaultCipher
    private let clock: any Clock

    init(layout: CloneLayout, cipher: VaultCipher, clock: any Clock) {
        self.layout = layout
        self.cipher = cipher
        self.clock = clock
    }

    /// The exact bytes of a mutable file, or nil when it is absent.
    func bytes(of id: FileID, limit: Int = Limits.refPlaintext) throws(VaultError) -> [UInt8]? {
        let (folder, name) = try layout.place(of: id)
        do throws(Errno) {
            return try folder.contents(name, limit: limit)
        } catch .fileTooLarge {
            throw Self.unreadable(id, nil)
        } catch {
            if let misplaced = folder.misplaced(name, as: id.path) {
                throw VaultError(
                    .refUnreadable, misplaced.message, hint: misplaced.hint, path: misplaced.path, object: id.path)
            }
            throw .io(error, "cannot read \(id.path)", path: id.path)
        }
    }

    /// The commit a ref names; nil when the ref is absent or names none.
    func commit(of ref: RefID) throws(VaultError) -> ObjectID? {
        try settled { () throws(VaultError) in
            guard let bytes = try bytes(of: .ref(ref)) else { return nil }
            return try decode(bytes, of: ref)
        }
    }

    /// Reads a file that is there; again, a few times, when it does not read.
    ///
    /// The reference takes no lock and writes in place: for a moment its file is empty or cut short.
    private func settled<Value>(_ read: () throws(VaultError) -> Value) throws(VaultError) -> Value {
        for _ in 0..<Self.looks {
            do throws(VaultError) { return try read() } catch {
                guard error.code == .refUnreadable else { throw error }
            }
            clock.sleep(milliseconds: 5)
        }
        return try read()
    }

    private static let looks = 4

    /// The commit that ref bytes from anywhere name.
    func decode(_ bytes: [UInt8], of ref: RefID) throws(VaultError) -> ObjectID? {
        do throws(FormatError) {
            let plaintext = try cipher.open(bytes.span, limit: Limits.refPlaintext)
            return try RefObject.decode(plaintext.span)
        } catch {
            throw Self.unreadable(.ref(ref), error)
        }
    }

    /// Encrypted bytes of a ref that names `commit`; different at every call.
    func encode(_ commit: ObjectID?, random: any RandomSource) throws(VaultError) -> [UInt8] {
        try decoding("encrypting a ref") { () throws(FormatError) in
            let plaintext = RefObject.encode(commit)
            return try cipher.sealRandom(plaintext.span, random: random)
        }
    }

    /// The branch index, or nil when the vault has none (spec 02 §7).
    func index(_ id: IndexID) throws(VaultError) -> BranchIndex? {
        try settled { () throws(VaultError) in
            guard let bytes = try bytes(of: .index(id), limit: Limits.indexPlaintext) else { return nil }
            return try decodeIndex(bytes, id)
        }
    }

    /// Index bytes from anywhere.
    ///
    /// Unreadable is an error, never "absent": it would drop the policy.
    func decodeIndex(_ bytes: [UInt8], _ id: IndexID) throws(VaultError) -> BranchIndex {
        do throws(FormatError) {
            let plaintext = try cipher.open(bytes.span, limit: Limits.indexPlaintext)
            let index = try BranchIndex.decode(plaintext.span)
            // One key encrypts everything and nothing binds bytes to their place, so a host can answer another of the
            // vault's files here. Read as an index it has no branch and no schema, and would drop the vault's policy.
            guard !index.branches.isEmpty || index.schema?.hasPrefix("branch_index_v") == true else {
                throw FormatError.malformed("this is no branch index")
            }
            return index
        } catch {
            throw Self.unreadable(.index(id), error)
        }
    }

    func encodeIndex(_ index: BranchIndex, random: any RandomSource) throws(VaultError) -> [UInt8] {
        try decoding("encrypting the branch index") { () throws(FormatError) in
            let plaintext = index.encode()
            return try cipher.sealRandom(plaintext.span, random: random)
        }
    }

    private static func unreadable(_ id: FileID, _ error: FormatError?) -> VaultError {
        VaultError(
            .refUnreadable, "\(id.path) does not decrypt or does not read: it is damaged or was replaced",
            hint: "vaultctl fsck --repair", object: id.path, cause: error)
    }
}
