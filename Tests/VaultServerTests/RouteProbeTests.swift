import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultServer

/// Every route and error of the real server, in the order in which it was asked (TestVectors/wire/routes.json).
@Suite("The answers of the real server", .timeLimit(.minutes(1)))
struct RouteProbeTests {
    /// Why a probe is answered otherwise (spec 04 §14), and how.
    private enum Difference {
        /// Another status and body.
        case answer(Int, String)
        /// The status alone: the body holds what differs from run to run.
        case status(Int)

        static let atomic = #"{"vault_id":"probe001","results":"#
    }

    private static let differences: [Int: (reason: String, Difference)] = [
        14: ("no stack trace", .answer(500, failure)),
        34: ("no stack trace", .answer(500, failure)),
        35: ("no stack trace", .answer(500, failure)),
        36: ("no stack trace", .answer(500, failure)),
        38: ("no stack trace", .answer(500, failure)),
        27: (
            "a batch that compares is atomic",
            .answer(
                200,
                Difference.atomic
                    + #"[{"op":"write","file_id":"bare/data/w1","status":"not_applied"},{"op":"write-if-match","file_id":"bare/refs/ref-pid-muw-000000000001","status":"conflict","current":"UjI="}]}"#
            )
        ),
        28: (
            "nothing of it was applied",
            .answer(
                200,
                Difference.atomic
                    + #"[{"file_id":"bare/data/w1","status":"not_found"},{"file_id":"bare/data/w2","status":"not_found"},{"file_id":"bare/refs/ref-pid-muw-000000000001","status":"ok","data":"UjI="}]}"#
            )
        ),
        29: (
            "a batch that compares is atomic",
            .answer(
                200,
                Difference.atomic
                    + #"[{"op":"write-if-match","file_id":"bare/refs/c1","status":"not_applied"},{"op":"write-if-match","file_id":"bare/refs/ref-pid-muw-000000000001","status":"conflict","current":"UjI="}]}"#
            )
        ),
        30: (
            "nothing of it was applied",
            .answer(200, Difference.atomic + #"[{"file_id":"bare/refs/c1","status":"not_found"}]}"#)
        ),
        50: ("ranges are honoured", .answer(206, "\u{0}\u{1}")),
        54: (
            "w1 and c1 were not applied",
            .answer(
                200,
                #"{"vault_id":"probe001","prefix":"","files":["bare/data/single","bare/data/w3","bare/data/w7","bare/refs/empty","bare/refs/ref-pid-muw-000000000001"]}"#
            )
        ),
        55: (
            "w1 was not applied",
            .answer(
                200,
                #"{"vault_id":"probe001","prefix":"bare/data/","files":["bare/data/single","bare/data/w3","bare/data/w7"]}"#
            )
        ),
        57: (
            "w1 was not applied",
            .answer(
                200,
                #"{"vault_id":"probe001","prefix":"bare/data","files":["bare/data/single","bare/data/w3","bare/data/w7"]}"#
            )
        ),
        58: (
            "c1 was not applied",
            .answer(
                200,
                #"{"vault_id":"probe001","prefix":"bare/refs/","files":["bare/refs/empty","bare/refs/ref-pid-muw-000000000001"]}"#
            )
        ),
        60: ("presigned transfer is there", .status(200)),
        61: ("the upload is unknown", .answer(404, #"{"detail":"Unknown upload"}"#)),
        62: ("the upload is unknown", .answer(404, #"{"detail":"Unknown upload"}"#)),
        63: ("presigned transfer is there", .status(200)),
        72: (
            "w1 and c1 were not applied",
            .answer(200, #"{"status":"deleted","vault_id":"probe001","files_deleted":5}"#)
        ),
    ]

    private static let failure = #"{"detail":"An unexpected error occurred."}"#

    @Test("all 82 probes are answered alike, but those that the specification names")
    func probes() throws {
        let probes = try #require(try Vectors.json("wire/routes.json")["exchanges"]?.items)
        #expect(probes.count == 82)
        let server = try TestServer()
        for (number, probe) in probes.enumerated() {
            let request = try #require(probe["request"])
            let expected = try #require(probe["response"])
            let answer = try ask(request, number, server)
            let name = "\(number) \(probe["label"]?.text ?? "")"
            switch Self.differences[number]?.1 {
            case .status(let status)?: #expect(answer.status == status, "\(name)")
            case .answer(let status, let body)?:
                #expect(answer.status == status, "\(name)")
                #expect(answer.text == body, "\(name)")
            case nil: try compare(answer, expected, name, isHead: request["method"]?.text == "HEAD")
            }
        }
    }

    private func ask(_ request: JSONValue, _ number: Int, _ server: TestServer) throws -> TestConnection.Answer {
        var headers: [(String, String)] = []
        for member in request["headers"]?.members ?? [] {
            var value = member.value.text ?? ""
            switch value {
            case "<access-token>": value = number == 8 ? "wrong" : TestServer.token
            case "<write-key-A>": value = TestServer.writeKey
            case "<write-key-B>": value = String(repeating: "b", count: 64)
            default: break
            }
            headers.append((member.name, value))
        }
        let body = request["body_b64"]?.text.flatMap { text in
            let text = Array(text.utf8)
            return Base64.decode(text.span)
        }
        return try server.request(
            try #require(request["method"]?.text), try #require(request["path"]?.text), headers: headers, body: body)
    }

    private func compare(
        _ answer: TestConnection.Answer, _ expected: JSONValue, _ name: String, isHead: Bool
    ) throws {
        #expect(answer.status == Int(expected["status"]?.int ?? 0), "\(name)")
        #expect(answer.headers["content-type"] == expected["content_type"]?.text, "\(name)")
        if let body = expected["body_json"] {
            let found = try #require(answer.json, "\(name)")
            // The real server lists in the order of insertion.
            #expect(Self.sorted(found) == Self.sorted(body), "\(name)")
        } else if let text = expected["body_b64"]?.text, text != "<omitted>", !isHead {
            #expect(Base64.text(answer.body.span) == text, "\(name)")
        }
        if isHead { #expect(answer.headers["content-length"] == expected["content_length"]?.text, "\(name)") }
    }

    private static func sorted(_ value: JSONValue) -> JSONValue {
        guard let members = value.members else { return value }
        return .object(
            members.map { member in
                guard member.name == "files", let items = member.value.items else { return member }
                let texts = items.compactMap(\.text).sorted()
                return JSONMember(name: member.name, value: .array(texts.map { .string($0) }))
            })
    }
}
