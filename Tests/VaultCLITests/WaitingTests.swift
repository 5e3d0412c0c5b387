import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

/// Signals and special files concern a whole process, so these run the program itself.
@Suite(
    "What a command waits for, and what it writes into",
    .enabled(if: DebugBinary.path() != nil, "the program is not built beside the tests"))
struct WaitingTests {
    private let folder: TemporaryFolder
    private let program: String

    init() throws {
        folder = try TemporaryFolder("waiting")
        program = DebugBinary.path() ?? ""
        try shell(
            """
            $P init -q --server ./rem v >out 2>&1; echo aa >v/a.txt; $P -C v commit -q -m one >out
            $P -C v push -q >out; cp v/.sg_vault/local/vault_key key; mkfifo fifo
            """)
    }

    @discardableResult
    private func shell(_ command: String) throws -> String {
        let start = "set -e; cd \(folder.path.text); export HOME=$PWD CI=1 P=\(program); umask 022\n"
        return String(decoding: try Shell.run(start + command), as: UTF8.self)
    }

    /// Runs a command, sends it a signal after a moment, and gives its exit code: 137 when it does not end soon.
    private func stopped(_ command: String, by signal: String) throws -> String {
        try shell(
            """
            sleep 20 >fifo 2>out & holder=$!
            exec 3<fifo
            \(command) & p=$!
            sleep 0.4; kill -\(signal) $p
            ( sleep 3; kill -9 $p ) >out 2>&1 & guard=$!
            code=0; wait $p || code=$?
            kill $holder $guard $lock 2>out || true
            echo $code
            """)
    }

    @Test(
        "a signal ends every wait",
        arguments: [
            "$P -C v write b.txt <&3", "$P clone --server ./rem - c <&3", "$P -C v commit -F - <&3",
            "$P init --key-fd 3 c", "$P init --key-command 'sleep 20; echo x' c", "$P init --key-file fifo c",
            "flock v/.sg_vault/local/vaultctl/lock $P -C v commit --lock-timeout 30 --allow-empty -m x",
            "flock rem/.vaultctl/lock $P -C v push --lock-timeout 30 --force", "$P -C v cat -o ../unread a.txt",
        ])
    func signalled(command: String) throws {
        try shell("mkfifo unread; echo more >v/a.txt; $P -C v commit -q -m two >out")
        // Another process holds the lock, in a file that stands before the command.
        let words = command.split(separator: " ", maxSplits: 2)
        let isLocked = words[0] == "flock"
        let before = isLocked ? "flock -o \(words[1]) sleep 6 >out 2>&1 & lock=$!; sleep 0.2; " : ""
        let plain = isLocked ? String(words[2]) : command
        for (signal, code) in [("INT", "130"), ("TERM", "143"), ("HUP", "129")] {
            #expect(try stopped(before + "run() { exec \(plain); }; run 2>out", by: signal) == code + "\n")
        }
    }

    @Test("the lock of a folder remote is waited for as long as --lock-timeout says")
    func folderLock() throws {
        let told = try shell(
            """
            echo more >v/a.txt; $P -C v commit -q -m two >out
            flock -o rem/.vaultctl/lock sleep 4 >out 2>&1 & sleep 0.2
            $P -C v push --lock-timeout 0.2 2>&1 || echo $?; kill $!
            """)
        #expect(told.contains("another writer holds") && told.hasSuffix("\n11\n"))
    }

    @Test("a key comes from a pipe that is filled later")
    func lateKey() throws {
        let id = try shell("$P -C v info --json | sed 's/.*\"vault_id\":\"\\([^\"]*\\).*/\\1/' | tr -d '\\n'")
        try shell(
            "mkfifo late; ( sleep 0.3; cat key >late ) 2>out >out & $P clone -q --server ./rem --key-file late \(id) c >out"
        )
        #expect(try shell("cat c/a.txt") == "aa\n")
    }

    @Test("a state file that is no regular file is refused, not waited for")
    func stateFiles() throws {
        try shell("mkfifo v/.sg_vault/local/vaultctl/config.json")
        let told = try shell("timeout 5 $P -C v commit --allow-empty -m x 2>&1 || echo $?")
        #expect(told.contains("is no regular file") && told.hasSuffix("\n9\n"))
    }

    @Test("a result goes into a FIFO, through a link, and over a file that keeps its mode")
    func outputs() throws {
        #expect(
            try shell(
                """
                timeout 5 cat fifo >read & timeout 5 $P -C v cat -o ../fifo a.txt; wait $!; cat read
                test -p fifo && echo still a FIFO
                echo old >m; chmod 600 m; ln -s m link; $P -C v cat -o ../link a.txt
                readlink link; cat m; stat -c %a m
                ln -s none dangling; $P -C v cat -o ../dangling a.txt; readlink dangling; cat none; stat -c %a none
                ln -s v/.sg_vault/local/vault_key trap; $P -C v cat -o ../trap a.txt 2>out || echo $?
                cmp key v/.sg_vault/local/vault_key
                $P -C v cat -o - a.txt; ls -A v
                """)
                    == """
                    aa
                    still a FIFO
                    m
                    aa
                    600
                    none
                    aa
                    644
                    9
                    aa
                    .sg_vault
                    a.txt

                    """)
    }

    @Test("a user's configuration behind a link stays behind it")
    func linkedSettings() throws {
        #expect(
            try shell(
                """
                mkdir -p .config/vaultctl; echo '{"v":1}' >real; chmod 640 real
                ln -s ../../real .config/vaultctl/config.json
                $P config set --user core.color never; readlink .config/vaultctl/config.json
                stat -c %a real; grep -c never real
                """) == "core.color=never\n../../real\n640\n1\n")
    }

    @Test("a dry run leaves the lock file as it is")
    func dryRun() throws {
        let told = try shell(
            """
            echo more >v/a.txt; $P -C v commit -q -m two >out
            cp v/.sg_vault/local/vaultctl/lock before; $P -C v push --dry-run
            cmp before v/.sg_vault/local/vaultctl/lock && echo same
            """)
        #expect(told.hasPrefix("Would publish") && told.hasSuffix("\nsame\n"), "\(told)")
    }
}
