import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

@Suite struct SignatureTests {
    private let identities: TestIdentities
    private let alice: KeyPair
    private let folder: TemporaryFolder

    init() throws {
        identities = try TestIdentities()
        alice = try identities["alice"].pair()
        folder = try TemporaryFolder("signatures")
    }

    private func put(_ bytes: [UInt8], _ path: String) throws {
        let place = folder.path.appending(relative: Array(path.utf8))
        try LinuxFileSystem().createDirectories(place.parent, mode: 0o700)
        try ResultFile.write(
            bytes, to: place, replacing: true, access: .anybody, fileSystem: LinuxFileSystem())
    }

    @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 1_000_000])
    func `a file is signed and verified piece by piece like its bytes at once`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131) }
        try put(bytes, "file")
        let path = folder.appending("file").text
        let signers = try identities.signers(contacts: [], own: ["alice"])
        let ofFile = try DetachedSignature.sign(file: path, with: alice.signing)
        let known = try identities["alice"].known(.ownKey)
        #expect(try ofFile.verify(bytes, signers: signers) == .valid(known))
        let ofBytes = try DetachedSignature.sign(bytes, with: alice.signing)
        #expect(try ofBytes.verify(file: path, signers: signers) == .valid(known))
        #expect(try DetachedSignature(parsing: ofFile.bytes()) == ofFile)
        #expect(try ofFile.verify(bytes + [0], signers: signers) == .invalid(known))
        #expect(try ofFile.verify(bytes, signers: .none) == .unknownSigner)
    }

    @Test func `a missing file is no invalid signature`() throws {
        let signature = try DetachedSignature.sign([], with: alice.signing)
        let path = folder.appending("nothing").text
        #expect(failure { _ = try signature.verify(file: path, signers: .none) } == .pathNotFound)
        let directory = folder.path.text
        #expect(failure { _ = try signature.verify(file: directory, signers: .none) } == .ioError)
    }

    @Test func `members that stand twice, and files above the limit, are refused`() throws {
        let written = String(decoding: try DetachedSignature.sign([], with: alice.signing).bytes(), as: UTF8.self)
        let twice = written.replacing("{", with: "{\"fingerprint\": \"x\",")
        #expect(failure { _ = try DetachedSignature(parsing: Array(twice.utf8)) } == .objectCorrupt)
        let large = Array(written.utf8) + [UInt8](repeating: 0x20, count: 64 << 10)
        #expect(failure { _ = try DetachedSignature(parsing: large) } == .objectCorrupt)
    }

    @Test func `a manifest lists every file, and sha256sum reads it`() throws {
        try put(Array("abc".utf8), "dir/b/deep.txt")
        try put([], "dir/a.txt")
        try put(Array("x".utf8), "dir/line\nend\\")
        let path = folder.appending("dir").text
        let manifest = try FolderManifest(scanning: path)
        // FIPS 180-4: the digests of "" and "abc"; that of "x" is of sha256sum.
        let expected = """
            # vaultctl manifest 1
            e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.txt
            ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b/deep.txt
            \\2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  line\\nend\\\\

            """
        #expect(String(decoding: manifest.bytes(), as: UTF8.self) == expected)
        #expect(try FolderManifest(parsing: manifest.bytes()) == manifest)
        #expect(try manifest.differences(from: path).isEmpty)
        try put(manifest.bytes(), "list")
        let script = "cd '\(path)' && sha256sum --strict --status -c ../list && echo same"
        #expect(try Shell.run(script) == Array("same\n".utf8))
    }

    @Test func `a manifest that could not be read back is not written`() throws {
        for name in ["a", "line\nend"] { try put([], "dir/\(name)") }
        let path = folder.appending("dir")
        let whole = try FolderManifest(scanning: path, excluding: [])
        let count = whole.bytes().count
        #expect(try FolderManifest(scanning: path, excluding: [], limit: count) == whole)
        #expect(failure { _ = try FolderManifest(scanning: path, excluding: [], limit: count - 1) } == .refused)
    }

    @Test func `every kind of difference is found`() throws {
        for name in ["same", "changed", "missing", "folder/inner"] { try put(Array(name.utf8), "dir/\(name)") }
        let path = folder.appending("dir").text
        let manifest = try FolderManifest(scanning: path)
        try put(Array("other".utf8), "dir/changed")
        try put([], "dir/new")
        let directory = try LinuxFileSystem().openDirectory(folder.appending("dir"))
        try directory.removeFile(Array("missing".utf8))
        let found = try manifest.differences(from: path)
        #expect(found.changed == [Array("changed".utf8)])
        #expect(found.missing == [Array("missing".utf8)])
        #expect(found.unexpected == [Array("new".utf8)])
        let excluded = try manifest.differences(from: path, excluding: [Array("new".utf8)])
        #expect(excluded.unexpected.isEmpty)
        try Shell.run("cd '\(path)' && rm folder/inner && ln -s ../same folder/inner")
        #expect(try manifest.differences(from: path).changed.contains(Array("folder/inner".utf8)))
        #expect(failure { _ = try FolderManifest(scanning: path) } == .refused)
    }

    @Test(arguments: [
        "../x", "/x", "a//b", "./a", "a/..", "", "a/", "a\\b", "a\u{0}b", String(repeating: "a/", count: 256) + "a",
    ])
    func `a manifest leads nowhere but into its folder`(path: String) {
        let line = String(repeating: "0", count: 64) + "  " + path + "\n"
        let bytes = Array(("# vaultctl manifest 1\n" + line).utf8)
        #expect(failure { _ = try FolderManifest(parsing: bytes) } == .objectCorrupt)
    }

    @Test func `manifests have one form each`() throws {
        let digest = String(repeating: "0", count: 64)
        let head = "# vaultctl manifest 1\n"
        let lines = "\(digest)  a\n\(digest)  b\n"
        #expect(try FolderManifest(parsing: Array((head + lines).utf8)).entries.count == 2)
        #expect(try FolderManifest(parsing: Array(head.utf8)).entries.isEmpty)
        for text in [
            lines, head + lines.dropLast(), head + "\(digest)  b\n\(digest)  a\n",
            head + "\(digest)  a\n\(digest)  a\n",
            head + "\(digest) *a\n", head + "\(digest.uppercased().replacing("0", with: "A"))  a\n", head + "\n",
            head + "\\\(digest)  a\n", head + "\\\(digest)  a\\x\n", head + "\(digest)  a\r\n", "",
        ] {
            #expect(failure { _ = try FolderManifest(parsing: Array(text.utf8)) } == .objectCorrupt, "\(text)")
        }
        let newer = head.replacing("1", with: "2") + lines
        #expect(failure { _ = try FolderManifest(parsing: Array(newer.utf8)) } == .formatUnsupported)
    }

    @Test func `a result replaces a file only when it is told to`() throws {
        let path = folder.appending("result").text
        try ResultFile.write([1], to: path, replacing: false, access: .owner)
        #expect(failure { try ResultFile.write([2], to: path, replacing: false, access: .owner) } == .refused)
        try ResultFile.write([3], to: path, replacing: true, access: .owner)
        let place = FilePath(path)
        #expect(try LinuxFileSystem().readFile(place, limit: 9) == [3])
        #expect(try LinuxFileSystem().status(of: place, followLinks: false).mode == 0o600)
        #expect(try folder.open().entries().count == 1)
        let nowhere = folder.appending("no").appending(component: "file").text
        #expect(failure { try ResultFile.write([], to: nowhere, replacing: true, access: .owner) } == .pathNotFound)
    }

    @Test func `a result that somebody wished to stop gets no name, and the one before stays`() throws {
        let place = folder.appending("result")
        for old in [[UInt8]?.none, [1]] {
            if let old { try ResultFile.write(old, to: place.text, replacing: false, access: .owner) }
            let stopped = failure {
                try ResultFile.write(
                    [2], to: place, replacing: true, access: .owner, fileSystem: LinuxFileSystem(),
                    cancellation: StopsAfter(0))
            }
            #expect(stopped == .cancelled)
            #expect(try folder.open().entries().count == (old == nil ? 0 : 1))
            if let old { #expect(try LinuxFileSystem().readFile(place, limit: 9) == old) }
        }
        try ResultFile.write(
            [2], to: place, replacing: true, access: .owner, fileSystem: LinuxFileSystem(), cancellation: StopsAfter(1))
        #expect(try LinuxFileSystem().readFile(place, limit: 9) == [2])
    }

    @Test(arguments: [0, 1, 3])
    func `hashing a long file stops between two pieces`(looks: Int) throws {
        try put([UInt8](repeating: 7, count: 2_000_000), "long")
        let signature = try DetachedSignature.sign([1], with: alice.signing)
        let signers = try identities.signers(contacts: [], own: ["alice"])
        func code(_ body: (any File, any Cancellation) throws -> Void) throws -> PKIError.Code? {
            let file = try LinuxFileSystem().openFile(folder.appending("long"))
            return failure { try body(file, StopsAfter(looks)) }
        }
        #expect(
            try code { file, stop in
                _ = try DetachedSignature.sign(reading: file, name: "long", with: alice.signing, cancellation: stop)
            } == .cancelled)
        #expect(
            try code { file, stop in
                _ = try signature.verify(reading: file, name: "long", signers: signers, cancellation: stop)
            } == .cancelled)
    }

    @Test func `scanning a folder and comparing it stop between two files`() throws {
        for number in 0..<9 { try put([1], "folder/\(number % 3)/\(number)") }
        let path = folder.appending("folder").text
        let manifest = try FolderManifest(scanning: path)
        #expect(manifest.entries.count == 9)
        for looks in [0, 5, 11] {
            let stopped = failure {
                _ = try FolderManifest(scanning: FilePath(path), excluding: [], cancellation: StopsAfter(looks))
            }
            #expect(stopped == .cancelled)
            let compared = failure {
                _ = try manifest.differences(from: FilePath(path), excluding: [], cancellation: StopsAfter(looks))
            }
            #expect(compared == .cancelled)
        }
    }

    @Test func `a cancelled task signs, verifies and scans nothing`() async throws {
        try put([1, 2, 3], "folder/file")
        let (file, scanned) = (folder.appending("folder/file").text, folder.appending("folder").text)
        let signature = try DetachedSignature.sign([1], with: alice.signing)
        let signers = try identities.signers(contacts: [], own: ["alice"])
        let key = alice.signing
        let manifest = try FolderManifest(scanning: scanned)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return [
                failure { _ = try DetachedSignature.sign(file: file, with: key) },
                failure { _ = try signature.verify(file: file, signers: signers) },
                failure { _ = try FolderManifest(scanning: scanned) },
                failure { _ = try manifest.differences(from: scanned) },
            ]
        }
        task.cancel()
        #expect(await task.value == [.cancelled, .cancelled, .cancelled, .cancelled])
    }
}
