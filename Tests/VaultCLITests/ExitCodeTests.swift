import Testing
import VaultCore

@testable import VaultCLI

@Suite("Exit codes follow from error codes")
struct ExitCodeTests {
    @Test("every error code has its row in the table", arguments: VaultError.Code.all)
    func mapped(code: VaultError.Code) {
        #expect(ExitCode.isMapped(code))
    }

    /// The table of spec 10 B.3 and B.4.
    @Test(
        "the contract's codes end with the contract's numbers",
        arguments: [
            ("usage", 2), ("not_a_vault", 3), ("revision_not_found", 3), ("path_not_found", 3), ("branch_not_found", 3),
            ("remote_not_found", 3), ("key_not_found", 3), ("conflicts", 4), ("merge_in_progress", 4),
            ("remote_moved", 5), ("not_fast_forward", 5), ("lease_broken", 5), ("name_taken", 5), ("key_missing", 6),
            ("key_wrong", 6), ("token_missing", 6), ("token_refused", 6), ("read_only_clone", 6), ("unreachable", 7),
            ("tls_failed", 7), ("timeout", 7), ("server_error", 7), ("server_busy", 7), ("redirect_refused", 7),
            ("cleartext_refused", 6), ("object_missing", 8), ("object_corrupt", 8), ("decrypt_failed", 8),
            ("signature_bad", 8), ("ref_rewound", 8), ("ref_unreadable", 8), ("dirty_tree", 9),
            ("directory_not_empty", 9), ("secret_in_commit", 9), ("unsafe_path", 8), ("partial_clone", 9),
            ("partial_result", 10), ("locked", 11), ("no_space", 12), ("permission_denied", 12),
            ("read_only_filesystem", 12), ("io_error", 12), ("format_unsupported", 13), ("not_supported", 13),
            ("input_needed", 14), ("deferred", 15), ("cancelled", 1), ("internal", 70), ("read_only_remote", 9),
            ("refused", 9),
        ])
    func contract(name: String, number: Int32) throws {
        let code = try #require(VaultError.Code.all.first { $0.name == name })
        #expect(ExitCode(code).rawValue == number)
    }

    @Test("names and numbers are unique")
    func unique() {
        #expect(Set(ExitCode.allCases.map(\.name)).count == ExitCode.allCases.count)
    }
}
