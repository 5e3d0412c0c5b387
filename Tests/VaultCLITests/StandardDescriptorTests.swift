import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

/// What a process is started with is not seen from within one, so these run the program itself.
@Suite("Standard descriptors", .enabled(if: DebugBinary.path() != nil, "the program is not built beside the tests"))
struct StandardDescriptorTests {
    private let folder: TemporaryFolder
    private let program: String

    init() throws {
        folder = try TemporaryFolder("streams")
        program = DebugBinary.path() ?? ""
        try shell("HOME=$PWD \(program) init -q v >/dev/null 2>&1")
    }

    @discardableResult
    private func shell(_ command: String) throws -> String {
        String(decoding: try Shell.run("cd \(folder.path.text) && export HOME=$PWD && { \(command); }"), as: UTF8.self)
    }

    @Test(
        "a stream that is closed at the start never becomes a file of the vault",
        arguments: [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "<&- 2>&-"])
    func closed(streams: String) throws {
        try shell("echo \(streams.utf8.count) > v/a.txt; \(program) -C v commit -v -m one \(streams) || true")
        try shell("\(program) -C v status --bogus \(streams) || true; \(program) -C v log -vv \(streams) || true")
        let report = try shell("\(program) -C v fsck && \(program) -C v log --oneline")
        #expect(report.contains("Clean\n") && report.contains(" one\n"))
        #expect(try shell("cat v/.sg_vault/local/vault_key | head -c 19") == "sgit_private_vault_")
    }

    @Test("a closed stream fails as it would have")
    func stillClosed() throws {
        #expect(try shell("\(program) -C v status >&- 2>/dev/null || echo $?") == "12\n")
        #expect(try shell("\(program) -C v write a.txt <&- 2>/dev/null || echo $?") == "12\n")
        #expect(try shell("\(program) -C v status 2>&- | wc -l") == "4\n")
    }

    @Test("when the report of finished work can not be written, the work is not asked for again")
    func fullDisk() throws {
        for json in ["", "--json"] {
            let error = try shell(
                "echo \(json) >> v/a.txt; \(program) -C v commit -m x \(json) 2>&1 >/dev/full || echo \" exit $?\"")
            #expect(error.contains("vaultctl: the work was done, but its report could not be written: "))
            #expect(!error.contains("hint:") && !error.contains("again") && error.contains(" exit 12\n"))
        }
        #expect(try shell("\(program) -C v log --oneline").split(separator: "\n").count == 3)
        let listing = try shell("\(program) -C v ls 2>&1 >/dev/full || echo \" exit $?\"")
        #expect(listing.contains("cannot write to standard output") && listing.contains(" exit 12\n"))
    }
}
