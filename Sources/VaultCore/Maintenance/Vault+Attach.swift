internal import VaultCrypto
public import VaultFormat
package import VaultSystem

extension Vault {
    /// Makes a clone with a working copy of a bare one, or of a store that lies without keys in `.sg_vault` (spec 03 §4).
    ///
    /// The key is stored in it, and files of the head that are not there are written; files that are there are kept.
    /// A store without a branch of its own gets one, so that it can commit.
    ///
    /// * `path`: The folder in which `.sg_vault` lies.
    /// * `key`: The vault key, or the read key for a clone that only reads.
    /// - Throws: `notAVault`, `refused` for a clone that has its key, `keyWrong`, `objectMissing`, or an I/O error.
    public static func attach(
        at path: String, key: consuming AccessKey, observer: any Observer = SilentObserver()
    ) throws -> AttachResult {
        try attach(
            root: FilePath(path), key: key, options: OpenOptions(verb: "attach"), environment: .production(),
            observer: observer)
    }

    /// The same with the file system, clock and randomness handed in.
    package static func attach(
        root: FilePath, key: consuming AccessKey, options: OpenOptions, environment: VaultEnvironment,
        observer: any Observer
    ) throws -> AttachResult {
        let directory = try attempt("cannot open \(root.text)", path: root.text) { () throws(Errno) in
            try environment.fileSystem.openDirectory(root)
        }
        try attempt("cannot make the folders of the vault", path: root.text) { () throws(Errno) in
            // A store that was copied alone.
            guard let store = try directory.openIfPresent(".sg_vault"), try store.openIfPresent("bare") != nil else {
                return
            }
            _ = try store.openDirectory("local".bytes, creatingWith: 0o755, durably: true)
        }
        let layout = try CloneLayout(root: directory, path: root)
        let files = LocalFiles(layout: layout)
        let isBound = try vaultKeyText(layout) != nil || files.readObject("clone_mode.json") != nil
        guard !isBound else {
            throw VaultError(.refused, "\(root.text) is a clone that has its key", path: root.text)
        }
        let keys = try CloneKey(key, options: CloneOptions())
        // Files are written before the key is there, with the rights of one who may.
        let vault = try Vault(
            environment: environment, layout: layout, keys: keys.holder, mode: .full, readOnlyBranch: nil,
            lockTimeout: options.lockTimeout, verb: options.verb)
        try vault.checkKeyFits()
        try vault.prepare(keys)
        let state = try vault.loadState()
        var result = AttachResult(
            directory: vault.root, vaultID: vault.vaultID, mode: keys.mode, head: state.head, written: [], kept: [],
            notStored: [])
        if state.head != nil {
            let restored = try vault.restore([], observer: observer)
            (result.written, result.kept, result.notStored) = (restored.written, restored.kept, restored.notWritten)
        }
        try vault.bind(keys)
        return result
    }

    /// Stores what the state of a clone tells: its settings and its branch.
    private func prepare(_ keys: CloneKey) throws {
        let lock = try lockWithoutRecovery()
        let index = try refs.index(ids.index) ?? fallbackIndex()
        try Self.checkGate(index)
        let named = try trackedBranch(of: nil, index)
        var config =
            try files.readObject(CloneConfig.fileName).map { (value) throws(VaultError) in
                try CloneConfig(reading: value)
            } ?? CloneConfig(myBranchID: nil, isReadOnly: false, lastRemoteHead: nil)
        config.isReadOnly = !keys.canWrite
        let own = config.myBranchID.flatMap { try? BranchID($0) }.flatMap { index.branch(id: $0) }
        if !keys.canWrite {
            config.myBranchID = nil
        } else if own == nil {
            let head = try refs.commit(of: named.headRefID)
            config.myBranchID = try addOwnBranch(to: index, on: named, head: head, scratch: lock.scratch).branchID.text
        }
        try files.write(CloneConfig.fileName, config.json, scratch: lock.scratch)
    }

    /// Stores the key, which makes a clone of a store.
    private func bind(_ keys: CloneKey) throws {
        let lock = try lockWithoutRecovery()
        if keys.mode == .readOnly { return try writeReadOnlyMode(lock.scratch) }
        try keys.withText { text throws(VaultError) in
            try text.withBytes { (bytes) throws(VaultError) in
                try attempt("cannot write local/vault_key") { () throws(Errno) in
                    try lock.scratch.replace("vault_key".bytes, in: layout.local, with: bytes, mode: 0o600)
                }
            }
        }
    }
}
