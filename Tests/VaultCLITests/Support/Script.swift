internal import VaultFormat
internal import VaultSystem
internal import VaultTestSupport

/// A readable test: command lines and what they have to print.
///
/// The format is described in `Scripts/README.md`.
struct Script {
    /// One `$` line with its expectations.
    struct Step {
        let line: Int
        let command: String
        var expectations: [(line: Int, mark: String, text: String)] = []
    }

    let name: String
    let steps: [Step]

    /// The names of all scripts.
    static func names() throws -> [String] {
        try LinuxFileSystem().openDirectory(folder).entries().map { String(decoding: $0.name, as: UTF8.self) }
            .filter { $0.hasSuffix(".txt") }.sorted()
    }

    private static var folder: FilePath {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return FilePath(parts.dropLast(2).joined(separator: "/") + "/Scripts")
    }

    init(name: String) throws {
        self.name = name
        let bytes = try LinuxFileSystem().readFile(Self.folder.appending(component: name), limit: 1 << 20)
        var steps: [Step] = []
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
            if line.hasPrefix("$ ") {
                steps.append(Step(line: index + 1, command: String(line.dropFirst(2))))
            } else {
                let mark = line.prefix { $0 != " " }
                steps[steps.count - 1].expectations.append(
                    (index + 1, String(mark), String(line.dropFirst(mark.count + 1))))
            }
        }
        self.steps = steps
    }
}
