import Testing

@Suite("Scripts")
struct ScriptTests {
    @Test("a script prints what it says and nothing else", arguments: try Script.names())
    func script(name: String) async throws {
        let script = try Script(name: name)
        // A file that was cut short would pass as well.
        #expect(script.steps.contains { $0.command.hasPrefix("vaultctl") })
        try await ScriptRunner(script).run()
    }
}
