import Testing

@Suite("Scripts")
struct ScriptTests {
    @Test("a script prints what it says and nothing else", arguments: try Script.names())
    func script(name: String) async throws {
        try await ScriptRunner(Script(name: name)).run()
    }
}
