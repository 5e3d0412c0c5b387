import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("Batches on the wire")
struct WireVectorTests {
    private static let files = ["02-first-push", "06-clone", "10-push-lost-race", "27-push-large-presigned"]

    /// The batches of a transcript: request and answer.
    private func batches(_ name: String) throws -> [(request: JSONValue, answer: JSONValue)] {
        let bytes = try LinuxFileSystem().readFile(FilePath("\(Vectors.root)/wire/\(name).json"), limit: 1 << 22)
        let document = try JSONReader.parse(bytes.span)
        return (document["exchanges"]?.items ?? []).compactMap { exchange in
            guard exchange["request"]?["target"]?.text?.contains("/batch/") == true,
                let request = exchange["request"]?["body_json"], let answer = exchange["response"]?["body_json"]
            else { return nil }
            return (request, answer)
        }
    }

    @Test(arguments: files)
    func `what we write is what the reference writes`(name: String) throws {
        for (request, _) in try batches(name) {
            let ours = try written(request)
            let parsed = try JSONReader.parse(ours.span)
            #expect(parsed == request)
        }
    }

    /// Our spelling of a request.
    private func written(_ request: JSONValue) throws -> [UInt8] {
        let items = request["operations"]?.items ?? []
        let files = try items.map { try FileID(path: $0["file_id"]?.text ?? "") }
        guard items.contains(where: { $0["op"]?.text != "read" }) else { return BatchCodec.reading(files) }
        return BatchCodec.writing(
            try zip(items, files).map { item, file in
                var step = BatchCodec.Step(kind: try kind(item), file: file)
                step.data = try bytes(item["data"])
                if item["match"] != nil { step.match = try bytes(item["match"]) }
                return step
            })
    }

    @Test(arguments: files)
    func `what the real server answered reads`(name: String) throws {
        for (request, answer) in try batches(name) {
            let body = JSONWriter.bytes(answer, .compact)
            let read = try BatchCodec.answer(body)
            let asked = (request["operations"]?.items ?? []).map { $0["file_id"]?.text ?? "" }
            #expect(read.results.map(\.file) == Array(asked.prefix(read.results.count)))
            for (item, told) in zip(answer["results"]?.items ?? [], read.results) {
                switch told.result {
                case .content(let found): #expect(try found == bytes(item["data"]))
                case .conflict(let found):
                    #expect(item["status"]?.text == "conflict")
                    #expect(try found == (item["current"]?.isNull == false ? bytes(item["current"]) : nil))
                case .done: #expect(item["status"]?.text == "ok")
                case .absent: #expect(item["status"]?.text == "not_found")
                case .undone, .refused: Issue.record("the server said something else")
                }
            }
        }
    }

    @Test func `one of the transcripts holds a conflict`() throws {
        let conflicts = try batches("10-push-lost-race").filter { _, answer in
            try BatchCodec.answer(JSONWriter.bytes(answer, .compact)).results.contains {
                if case .conflict = $0.result { true } else { false }
            }
        }
        #expect(conflicts.count == 1)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", "{\"results\":3}", "{\"results\":[3]}",
        "{\"results\":[{\"status\":\"ok\",\"data\":\"!\"}]}",
        "{\"results\":[{\"status\":\"ok\",\"data\":5}]}",
        "{\"results\":[{\"status\":\"conflict\",\"current\":\"_-\"}]}",
        "{\"results\":" + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}",
        "{\"results\":[" + String(repeating: "0,", count: 5000) + "0]}",
    ])
    func `what is no answer is refused or holds nothing`(text: String) throws {
        let body = Array(text.utf8)
        do {
            let answer = try BatchCodec.answer(body)
            for told in answer.results {
                guard case .refused = told.result else {
                    Issue.record("\(text) was understood")
                    continue
                }
            }
        } catch {}
    }

    private func kind(_ item: JSONValue) throws -> BatchCodec.Step.Kind {
        try #require(BatchCodec.Step.Kind(rawValue: item["op"]?.text ?? ""))
    }

    private func bytes(_ value: JSONValue?) throws -> [UInt8] {
        let text = Array((value?.text ?? "").utf8)
        let decoded = Base64.decode(text.span)
        return try #require(decoded)
    }
}
