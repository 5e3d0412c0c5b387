import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

/// Limits that a process is started with (`setrlimit`), so that these run the program itself.
@Suite("Process limits", .enabled(if: DebugBinary.path() != nil, "the program is not built beside the tests"))
struct ProcessLimitTests {
    private let folder: TemporaryFolder
    private let program: String

    init() throws {
        folder = try TemporaryFolder("limits")
        program = DebugBinary.path() ?? ""
    }

    /// The leak check of AddressSanitizer and whatever is loaded to watch the program need files and threads themselves.
    private static let alone = "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 && unset LD_PRELOAD"

    private func shell(_ command: String) throws -> String {
        String(
            decoding: try Shell.run("cd \(folder.path.text) && export HOME=$PWD \(Self.alone) && { \(command); }"),
            as: UTF8.self)
    }

    /// What is left in the folder by commands that fail for want of open files, one line for each number of them.
    private func leftovers(_ command: String, _ place: String) throws -> String {
        try shell(
            """
            for n in $(seq 4 60); do
                rm -rf \(place)
                prlimit --nofile=$n \(command) >out 2>&1
                code=$?
                [ $code = 0 ] && { rm -rf \(place); echo done; break; }
                case $code in 7|12|127) ;; *) echo "$n ended with $code: $(cat out)";; esac
                [ $code = 127 ] || grep -q 'EMFILE' out || echo "$n says $(cat out)"
                ls -A | grep -v -x -e out -e v -e remote -e key || true
            done
            """)
    }

    @Test("with too few open files a command ends with 12 and says so, however few they are")
    func fewFiles() throws {
        _ = try shell("\(program) init -q v >/dev/null 2>&1 && echo x >v/a && \(program) -C v commit -q -m one")
        let codes = try shell(
            """
            for n in $(seq 4 60); do
                prlimit --nofile=$n \(program) -C v fsck >out 2>&1
                code=$?
                [ $code = 0 ] && { echo done; break; }
                [ $code = 127 ] || { [ $code = 12 ] && grep -q 'EMFILE' out; } || echo "$n: $code $(cat out)"
            done
            """)
        #expect(codes == "done\n")
    }

    @Test("with too few open files nothing is left of a new vault or clone")
    func leftovers() throws {
        #expect(try leftovers("\(program) init -q n", "n") == "done\n")
        _ = try shell(
            """
            \(program) init -q v >/dev/null 2>&1; \(program) -C v push -q --server ../remote --set-default >/dev/null
            cp v/.sg_vault/local/vault_key key
            """)
        let find = #"grep -o '"vault_id":"[^"]*"' | cut -d '"' -f 4 | tr -d '\n'"#
        let id = try shell("\(program) -C v info --json | \(find)")
        #expect((8...24).contains(id.utf8.count))
        #expect(try leftovers("\(program) clone -q --key-file key \(id) c --server ./remote", "c") == "done\n")
    }

    @Test(
        "without the threads that it needs a command ends with 12 and says so, however few there are",
        .enabled(if: ProcessContext.effectiveUserID == 0, "only root can become somebody who has no threads left"))
    func fewThreads() throws {
        let answers = try shell(
            """
            \(program) init -q v >/dev/null 2>&1 && echo x >v/a && \(program) -C v commit -q -m one >/dev/null
            cp \(program) ./vaultctl; chmod -R a+rwX .; chmod a+rx ..
            for n in 1 2 3 4 5 6 8 40; do
                setpriv --reuid 54399 --regid 54399 --clear-groups timeout -s KILL 60 \\
                    prlimit --nproc=$n ./vaultctl -C v fsck >out 2>&1
                code=$?
                [ $code = 0 ] && { echo done; break; }
                { [ $code = 12 ] && grep -q 'EAGAIN' out; } || echo "$n: $code $(cat out)"
            done
            """)
        #expect(answers == "done\n")
    }

    @Test("a file that would grow beyond the limit is an error of the write, and leaves the vault whole")
    func fileSize() throws {
        _ = try shell("\(program) init -q v >/dev/null 2>&1 && head -c 200000 /dev/urandom >v/big")
        let answer = try shell("(ulimit -f 64; \(program) -C v commit -m big >out 2>&1); echo $?; cat out")
        #expect(answer.hasPrefix("12\n") && answer.contains("EFBIG"), "\(answer)")
        let again = try shell("\(program) -C v fsck -q; \(program) -C v commit -q -m big && echo again")
        #expect(again.hasSuffix("again\n"))
    }
}
