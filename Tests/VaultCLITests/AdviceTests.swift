import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Advised commands exist")
struct AdviceTests {
    /// Every text in the sources that names a command: hints of errors, advice, help.
    private func advised() throws -> [String] {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        let sources = FilePath(parts.dropLast(3).joined(separator: "/") + "/Sources")
        return try ["VaultCore", "PKICore", "VaultCLI"].flatMap { try texts(in: sources.appending(component: $0)) }
    }

    private func texts(in folder: FilePath) throws -> [String] {
        let fileSystem = LinuxFileSystem()
        return try fileSystem.openDirectory(folder).entries().flatMap { entry -> [String] in
            let path = folder.appending(component: entry.name)
            if entry.kind == .directory { return try texts(in: path) }
            guard path.bytes.suffix(6) == Array(".swift".utf8) else { return [] }
            let text = String(decoding: try fileSystem.readFile(path, limit: 1 << 20), as: UTF8.self)
            return text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.flatMap(hints)
        }
    }

    /// What stands in `hint: "…"` and `advice("…")` of a line, interpolations replaced by a word.
    private func hints(_ line: Substring) -> [String] {
        ["hint: \"", "advice(\""].flatMap { mark -> [String] in
            var found: [String] = []
            var rest = line
            while let start = rest.firstRange(of: mark) {
                let tail = rest[start.upperBound...]
                found.append(String(tail.prefix { $0 != "\"" }))
                rest = tail
            }
            return found
        }
    }

    @Test("every hint that names a vaultctl command names one that parses")
    func hintsParse() throws {
        let all = try advised().filter { $0.contains("vaultctl ") }
        #expect(all.count > 3)
        for hint in all {
            for part in hint.split(whereSeparator: { ",;".contains($0) }) {
                guard let start = part.firstRange(of: "vaultctl ") else { continue }
                // Help is asked for so that what the person has to fill in may be missing.
                try Advice.check(part[start.lowerBound...] + " --help")
            }
        }
    }
}

extension Substring {
    /// Where a text first stands.
    fileprivate func firstRange(of other: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(other) { return start..<index(start, offsetBy: other.count) }
            start = index(after: start)
        }
        return nil
    }
}
