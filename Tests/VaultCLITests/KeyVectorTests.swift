import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("keys derive and classify agree with the reference's vectors")
struct KeyVectorTests {
    private static func vectors() throws -> [JSONValue] {
        let path = FilePath(Vectors.root + "/vault/keys.json")
        let bytes = try LinuxFileSystem().readFile(path, limit: 1 << 24)
        return try #require(try JSONReader.parse(bytes.span)["vault_keys"]?.items)
    }

    @Test("every vault key gives the ids and keys of its vector")
    func derive() async throws {
        let tool = try Tool()
        for vector in try Self.vectors() {
            let input = try #require(vector["input"]?.text)
            tool.input.descriptors[0] = Array(input.utf8)
            guard input.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else { continue }
            // A read key where both kinds may stand (spec 01 §1.4): by its prefix, or 64 bare hex digits before the colon.
            let kind = KeyText.kind(of: Array(input.utf8).span)
            if kind == .readPrivate || kind == .readPublic { continue }
            let head = input.prefix { $0 != ":" }
            if head.utf8.count == 64, head.utf8.allSatisfy({ Hex.lowerValue($0) != nil }) { continue }
            let bytes = await tool.run("keys", "derive", "--show-secrets", "--json", "-").output
            let value = try JSONReader.parse(bytes.span)
            for name in ["vault_id", "read_key", "write_key", "ref_file_id", "branch_index_file_id"] {
                guard let expected = vector[name: name] else { continue }
                #expect(value[name: name] == expected, "\(input): \(name)")
            }
        }
    }

    @Test("every vault key is classified as its vector says")
    func classify() async throws {
        let tool = try Tool()
        for vector in try Self.vectors() {
            let input = try #require(vector["input"]?.text)
            tool.environment["VAULTCTL_KEY"] = Array(input.utf8)
            let bytes = await tool.run("keys", "classify", "--json").output
            let value = try JSONReader.parse(bytes.span)
            #expect(value["kind"] == vector["kind"], "\(input)")
            #expect(value["usable_by_reference"] == vector["usable_by_commands"], "\(input)")
        }
    }
}
