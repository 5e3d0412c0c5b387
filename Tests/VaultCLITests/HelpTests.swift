import Testing
import VaultCore
import VaultFormat

@testable import VaultCLI

@Suite("Help, completions, manual and parser come from one description")
struct HelpTests {
    private let table = VerbTable.standard

    private func words(_ line: String) -> [[UInt8]] {
        line.split { " []|.=".contains($0) }.map { Array($0.utf8) }
    }

    @Test("every option stands in the synopsis of its verb, and nothing else that looks like one")
    func synopsisNamesOptions() {
        for verb in table.verbs {
            let known = verb.options.flatMap(\.flags) + ["--server", "--remote"]
            let spelled = verb.synopsis.flatMap(words).map { String(decoding: $0, as: UTF8.self) }
            for option in verb.options {
                #expect(option.flags.contains(where: spelled.contains), "\(verb.name): \(option.name)")
            }
            for word in spelled where word.hasPrefix("-") && word != "--" {
                #expect(known.contains(word), "\(verb.name): \(word)")
            }
        }
    }

    @Test("every synopsis begins with its verb")
    func synopsisBeginsWithVerb() {
        for verb in table.verbs {
            #expect(!verb.synopsis.isEmpty)
            for line in verb.synopsis { #expect(line.hasPrefix(verb.words[0])) }
        }
    }

    @Test("every positional stands in the synopsis")
    func synopsisNamesPositionals() {
        for verb in table.verbs where verb.name != "completion" && verb.name != "keys show" {
            for positional in verb.positionals {
                #expect(verb.synopsis.contains { $0.contains(positional.name) }, "\(verb.name): \(positional.name)")
            }
        }
    }

    @Test("an option means the same in every verb")
    func optionsKeepTheirMeaning() {
        var arity: [String: Bool] = [:]
        for option in table.globals + table.verbs.flatMap(\.options) {
            for flag in option.flags {
                #expect(arity[flag] ?? option.takesValue == option.takesValue, "\(flag)")
                arity[flag] = option.takesValue
            }
        }
        for verb in table.verbs {
            let flags = (table.globals + verb.options).flatMap(\.flags)
            #expect(Set(flags).count == flags.count, "\(verb.name)")
        }
    }

    @Test("every verb has two examples, and they parse")
    func examplesParse() throws {
        for verb in table.verbs {
            #expect(verb.examples.count == 2 || verb.name == "completion" || verb.name == "version", "\(verb.name)")
            for example in verb.examples { try Advice.check(example.command) }
        }
    }

    @Test("every verb tells its exit codes, success first, and its JSON")
    func exitsAndDocuments() {
        for verb in table.verbs {
            #expect(verb.exits.first?.code == .ok)
            #expect(verb.exits.map(\.code.rawValue) == verb.exits.map(\.code.rawValue).sorted(), "\(verb.name)")
            #expect(verb.document.schema.hasPrefix("vaultctl/\(verb.words[0])"))
        }
    }

    @Test("no line of help is wider than 100 columns")
    func width() {
        let help = HelpText(table: table)
        let lines =
            help.overview() + help.short() + table.verbs.flatMap(help.verb)
            + table.firstWords.filter(table.isGroup).flatMap(help.group)
        for line in lines { #expect(line.count <= 100, "\(line)") }
        #expect(lines.allSatisfy { line in line.utf8.allSatisfy { $0 < 0x7f } })
    }

    @Test("help, Markdown and manual name every verb and every option")
    func allNamed() {
        let markdown = MarkdownHelp(table: table).document().joined(separator: "\n")
        let json = JSONWriter.text(.object(HelpJSON(table: table).members()), .compact)
        for verb in table.verbs {
            #expect(markdown.contains("### \(verb.name)\n"))
            #expect(json.contains("\"name\":\"\(verb.name)\""))
            let page = ManPage(table: table).verb(verb).joined(separator: "\n")
            let text = HelpText(table: table).verb(verb).joined(separator: "\n")
            for option in verb.options {
                #expect(text.contains(option.spelled))
                #expect(markdown.contains("`\(option.spelled)`"))
                #expect(page.contains(option.flags[0].split(separator: "-").joined(separator: "\\-")))
            }
        }
    }

    @Test("a manual page holds no bare hyphen and no line that roff would take for a request")
    func roff() {
        for verb in table.verbs {
            for line in ManPage(table: table).verb(verb) where !line.hasPrefix(".") {
                #expect(!line.hasPrefix("'"))
                for (index, byte) in line.utf8.enumerated() where byte == UInt8(ascii: "-") {
                    #expect(index > 0 && Array(line.utf8)[index - 1] == UInt8(ascii: "\\"), "\(line)")
                }
            }
        }
    }

    @Test("'help' shows the overview, a verb, a group, and refuses other words")
    func helpVerb() async throws {
        let tool = try Tool()
        #expect(await tool.run("help").text.contains("Exit codes:"))
        #expect(await tool.run("help", "commit").text.hasPrefix("vaultctl commit - "))
        #expect(await tool.run("commit", "--help").text == tool.run("help", "commit").text)
        #expect(await tool.run("help", "remote", "add").text.hasPrefix("vaultctl remote add - "))
        #expect(await tool.run("remote", "-h").text == tool.run("help", "remote").text)
        let unknown = await tool.run("help", "comit")
        #expect(unknown.code == 3)
        #expect(unknown.error.contains("did you mean 'commit'?"))
    }

    @Test("'vaultctl' alone prints a short help on standard error and ends with 2")
    func alone() async throws {
        let outcome = try await Tool().run()
        #expect(outcome.code == 2)
        #expect(outcome.text == "")
        #expect(outcome.error.hasPrefix("usage: vaultctl "))
    }

    @Test("'help --json' is one document with everything")
    func json() async throws {
        let outcome = try await Tool().run("help", "--json")
        let value = try JSONReader.parse(outcome.output.span)
        #expect(value.members?.map(\.name) == ["schema", "ok", "version", "exit_codes", "globals", "verbs"])
        #expect(value["verbs"]?.items?.count == table.verbs.count)
        #expect(
            value["verbs"]?.items?.first?.members?.map(\.name) == [
                "name", "group", "synopsis", "summary", "network", "options", "positionals", "exits", "json_schema",
            ])
    }

    @Test("the version is told by the verb and by the option")
    func version() async throws {
        let tool = try Tool()
        let told = await tool.run("version").text
        #expect(told == "vaultctl \(Version.number) (sgit format 1-2)\n")
        #expect(await tool.run("--version").text == told)
    }
}
