import Testing

internal import VaultFormat
internal import VaultSystem
internal import VaultTestSupport

/// Runs a `Script`.
final class ScriptRunner {
    private let script: Script
    private let tool: Tool
    private var variables: [String: String] = [:]
    private var last = Tool.Outcome(code: 0, output: [], text: "", error: "")

    init(_ script: Script) throws {
        self.script = script
        tool = try Tool(seed: 7)
        variables["DIR"] = tool.directory.text
        variables["LONG"] = String(repeating: "x", count: 741)
        variables["HUGE"] = String(repeating: "x", count: (1 << 20) + 1)
    }

    func run() async throws {
        for step in script.steps {
            let words = try split(replaced(step.command))
            if words.first == Array("vaultctl".utf8) {
                last = await tool.run(Array(words.dropFirst()))
                tool.clock.advance(ms: 1000)
                check(step)
            } else {
                try perform(words, step)
            }
        }
    }

    // MARK: steps other than vaultctl

    private func perform(_ words: [[UInt8]], _ step: Script.Step) throws {
        let texts = words.map { String(decoding: $0, as: UTF8.self) }
        switch texts[0] {
        case "file": try tool.write(words[2], to: below(words[1]), mode: 0o644)
        case "secretfile": try tool.write(words[2], to: below(words[1]), mode: 0o600)
        case "folder": try makeFolder(below(words[1]))
        case "rm": try remove(below(words[1]))
        case "cd": tool.directory = texts[1] == "/" ? try root() : tool.directory.appending(relative: words[1])
        case "env": tool.environment[texts[1]] = words.count > 2 ? words[2] : nil
        case "stdin": tool.input.descriptors[0] = words[1]
        case "terminal":
            tool.terminal = FakeTerminal(isAvailable: texts[1] == "yes", answers: Array(texts.dropFirst(2)))
        case "tty": tool.outputIsTerminal = texts[1] == "yes"
        case "edit": tool.processes = FakeProcesses(edited: texts[1])
        case "wait": tool.clock.advance(ms: (Int64(texts[1]) ?? 0) * 1000)
        case "let": variables[texts[1]] = value(texts[2])
        case "holds":
            let bytes = try tool.read(String(decoding: below(words[1]), as: UTF8.self))
            #expect(bytes == words[2], "\(script.name):\(step.line)")
        case "absent":
            let found = try? tool.read(String(decoding: below(words[1]), as: UTF8.self))
            #expect(found == nil, "\(script.name):\(step.line)")
        case "mode":
            let mode = String(try tool.mode(String(decoding: below(words[1]), as: UTF8.self)), radix: 8)
            #expect(mode == texts[2], "\(script.name):\(step.line)")
        case "keystore": try ScriptVectors(tool: tool).keyStore(texts[1], in: below(words[2]))
        case "contact": try ScriptVectors(tool: tool).contact(texts[1], in: below(words[2]))
        case "bundle": try ScriptVectors(tool: tool).bundle(texts[1], to: below(words[2]))
        case "privatekey": try ScriptVectors(tool: tool).privateKey(texts[1], texts[2], to: below(words[3]))
        case "vector":
            try ScriptVectors(tool: tool).member(texts[3], of: texts[2], in: texts[1], to: below(words[4]))
        case "fd": tool.input.descriptors[Int32(texts[1]) ?? -1] = words[2]
        case "command": tool.processes = FakeProcesses(output: words[1], exit: Int32(texts[2]) ?? 0)
        case "shown":
            #expect(tool.terminal.shown.contains(replaced(texts[1])), "\(script.name):\(step.line)")
        default: Issue.record("\(script.name):\(step.line): unknown step \(texts[0])")
        }
    }

    private func root() throws -> FilePath {
        try LinuxFileSystem().canonicalPath(tool.folder.path)
    }

    /// A path as seen from the folder of the test.
    private func below(_ name: [UInt8]) throws -> [UInt8] {
        let base = try root().bytes
        let full = tool.directory.appending(relative: name).lexicalAbsolute(from: "/").bytes
        return Array(full.dropFirst(base.count + 1))
    }

    private func makeFolder(_ name: [UInt8]) throws {
        try tool.write([], to: name + Array("/.x".utf8))
        try LinuxFileSystem().openDirectory(tool.folder.path.appending(relative: name)).removeFile(Array(".x".utf8))
    }

    private func remove(_ name: [UInt8]) throws {
        let path = FilePath(bytes: name)
        let parent = try LinuxFileSystem().openDirectory(tool.folder.path.appending(path.parent))
        try parent.removeTree(path.lastComponent ?? [])
    }

    /// `stdout`, or the place of a JSON member.
    private func value(_ what: String) -> String {
        if what == "stdout" { return String(last.text.dropLast(last.text.hasSuffix("\n") ? 1 : 0)) }
        return member(what).map(shown) ?? ""
    }

    // MARK: expectations

    private func check(_ step: Script.Step) {
        let place = "\(script.name):\(step.line): \(step.command)\n\(last.text)\(last.error)"
        var code: Int32 = 0
        var output: [String] = []
        var error: [String] = []
        var looksAtOutput = false
        var ignoresError = false
        for (line, mark, text) in step.expectations {
            let expected = replaced(text)
            switch mark {
            case ">": output.append(expected)
            case "2>": error.append(expected)
            case "=": code = Int32(expected) ?? -1
            case "has":
                looksAtOutput = true
                #expect(last.text.contains(expected), "\(script.name):\(line): \(place)")
            case "says":
                ignoresError = true
                #expect(last.error.contains(expected), "\(script.name):\(line): \(place)")
            case "never":
                #expect(!(last.text + last.error).contains(expected), "\(script.name):\(line): \(place)")
            case "json":
                looksAtOutput = true
                let parts = expected.split(separator: " ", maxSplits: 1).map(String.init)
                let found = member(parts[0]).map(shown) ?? "nothing"
                #expect(matches(found, parts.count > 1 ? parts[1] : ""), "\(script.name):\(line): \(found)\n\(place)")
            default: Issue.record("\(script.name):\(line): unknown mark \(mark)")
            }
        }
        #expect(last.code == code, "\(place)")
        if !looksAtOutput || !output.isEmpty { compare(last.text, output, place) }
        if !ignoresError || !error.isEmpty { compare(last.error, error, place) }
    }

    /// Lines against patterns; the pattern `...` stands for any number of lines.
    private func compare(_ text: String, _ patterns: [String], _ place: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let all = text.isEmpty ? [] : text.hasSuffix("\n") ? lines.dropLast() : lines
        #expect(fits(Array(all)[...], patterns[...]), "\(place)expected \(patterns)")
    }

    private func fits(_ lines: ArraySlice<String>, _ patterns: ArraySlice<String>) -> Bool {
        guard let pattern = patterns.first else { return lines.isEmpty }
        if pattern == "..." {
            return (lines.startIndex...lines.endIndex).contains { fits(lines[$0...], patterns.dropFirst()) }
        }
        guard let line = lines.first, matches(line, pattern) else { return false }
        return fits(lines.dropFirst(), patterns.dropFirst())
    }

    /// Text against a pattern in which `{*}` stands for anything.
    private func matches(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.split(separator: "{*}", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return text == pattern }
        guard let first = parts.first, let end = parts.last, text.hasPrefix(first) else { return false }
        var rest = text.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            guard let found = rest.split(separator: part, maxSplits: 1, omittingEmptySubsequences: false).last,
                found.count < rest.count
            else { return false }
            rest = found
        }
        return rest.hasSuffix(end)
    }

    // MARK: words and values

    /// The value at a place like `error.code` or `entries[0].path` of the one JSON document on standard output.
    private func member(_ place: String) -> JSONValue? {
        let bytes = last.output
        guard bytes.last == UInt8(ascii: "\n"), !bytes.dropLast().contains(UInt8(ascii: "\n")),
            var value = try? JSONReader.parse(bytes.span)
        else { return nil }
        for part in place.split(whereSeparator: { ".[]".contains($0) }) {
            let next = Int(part).flatMap { index in
                value.items.flatMap { $0.indices.contains(index) ? $0[index] : nil }
            }
            let found = part == "#" ? value.items.map { .integer(Int64($0.count)) } : next ?? value[name: String(part)]
            guard let found else { return nil }
            value = found
        }
        return value
    }

    private func shown(_ value: JSONValue) -> String {
        guard let text = value.text, text.utf8.allSatisfy({ $0 >= 0x20 }) else {
            return JSONWriter.text(value, .compact)
        }
        return text
    }

    private func replaced(_ text: String) -> String {
        var result = text
        for (name, value) in variables {
            result = result.split(separator: "{\(name)}", omittingEmptySubsequences: false).joined(separator: value)
        }
        return result
    }

    /// Words as a shell splits them: single and double quotes, and `\n`, `\t`, `\\`, `\xNN` within double ones.
    private func split(_ line: String) throws -> [[UInt8]] {
        var words: [[UInt8]] = []
        var word: [UInt8]?
        var quote: UInt8?
        var bytes = Array(line.utf8)[...]
        while let byte = bytes.popFirst() {
            switch (byte, quote) {
            case (UInt8(ascii: "'"), nil), (UInt8(ascii: "\""), nil):
                quote = byte
                word = word ?? []
            case (let closing, let open?) where closing == open: quote = nil
            case (UInt8(ascii: "\\"), UInt8(ascii: "\"")): word?.append(escaped(&bytes))
            case (UInt8(ascii: " "), nil):
                if let done = word { words.append(done) }
                word = nil
            default:
                if word == nil { word = [] }
                word?.append(byte)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    private func escaped(_ bytes: inout ArraySlice<UInt8>) -> UInt8 {
        switch bytes.popFirst() {
        case UInt8(ascii: "n")?: return UInt8(ascii: "\n")
        case UInt8(ascii: "t")?: return UInt8(ascii: "\t")
        case UInt8(ascii: "r")?: return UInt8(ascii: "\r")
        case UInt8(ascii: "x")?:
            let digits = Array(bytes.prefix(2))
            bytes = bytes.dropFirst(2)
            return Hex.decode(digits.span)?.first ?? 0
        case let other?: return other
        case nil: return 0
        }
    }
}
