import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Published files, alone or beside vaults (spec 04 §9.3).
@Suite("Published files", .timeLimit(.minutes(1)))
struct StaticSiteTests {
    private static let object = "api/vault/read/vault001/bare/data/obj-cas-imm-0123456789ab"

    private static func publish(_ folder: TemporaryFolder) throws {
        try Shell.run(
            """
            cd '\(folder.path.text)' && mkdir -p site/api/vault/read/vault001/bare/data site/.hidden site/sub &&
            printf object >'site/\(object)' && printf '<p>' >site/index.html && printf sub >site/sub/index.html &&
            printf secret >site/.hidden/x && ln -s /etc site/link && printf '{}' >site/manifest.json
            """)
    }

    private func serve(withVaults: Bool) throws -> TestServer {
        try TestServer { configuration, folder in
            try Self.publish(folder)
            configuration.published = folder.appending("site")
            if !withVaults {
                configuration.root = nil
                configuration.tokens = nil
            }
        }
    }

    @Test("are read like those of any static host")
    func alone() throws {
        let server = try serve(withVaults: false)
        let object = try server.request("GET", "/" + Self.object)
        #expect(object.text == "object")
        #expect(object.headers["cache-control"] == "public, max-age=31536000, immutable")
        let page = try server.request("GET", "/")
        #expect(page.text == "<p>")
        #expect(page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(page.headers["cache-control"] == "no-cache")
        #expect(page.headers["x-content-type-options"] == "nosniff")
        let tag = try #require(page.headers["etag"])
        #expect(try server.request("GET", "/", headers: [("If-None-Match", tag)]).status == 304)
        let head = try server.request("HEAD", "/manifest.json")
        #expect(head.status == 200)
        #expect(head.headers["content-length"] == "2")
        #expect(try server.request("GET", "/sub/").text == "sub")
        #expect(try server.request("GET", "/sub/index.html", headers: [("Range", "bytes=1-1")]).text == "u")
        #expect(try server.request("GET", "/info/health").status == 200)
        #expect(try server.request("GET", "/api/vault/read/abcd/bare/x").status == 404)
    }

    @Test("are sent in part only to who holds the rest of the same state")
    func ifRange() throws {
        let server = try serve(withVaults: false)
        let tag = try #require(try server.request("GET", "/index.html").headers["etag"])
        let range = ("Range", "bytes=1-1")
        let same = try server.request("GET", "/index.html", headers: [range, ("If-Range", tag)])
        #expect(same.status == 206)
        #expect(same.text == "p")
        for other in ["\"other\"", "W/" + tag, "Mon, 30 Nov 2026 00:00:00 GMT"] {
            let whole = try server.request("GET", "/index.html", headers: [range, ("If-Range", other)])
            #expect(whole.status == 200)
            #expect(whole.text == "<p>")
        }
    }

    @Test(
        "show nothing hidden, nothing outside, and no folder",
        arguments: [
            "/.hidden/x", "/link/passwd", "/../site/index.html", "/sub", "/none", "/sub/../index.html", "//index.html",
            "/%2e%2e/tokens", "/sub%2f..%2f..%2ftokens", "/sub\\index.html",
        ])
    func hidden(_ target: String) throws {
        #expect(try serve(withVaults: false).request("GET", target).status == 404)
    }

    @Test("take no writes; a client sees a host without the API")
    func writes() throws {
        let server = try serve(withVaults: false)
        #expect(try server.request("PUT", "/x", body: [1]).status == 405)
        #expect(try server.batch("vault001", [Op.read("bare/x")]).status == 405)
    }

    @Test("stand beside vaults, whose routes come first")
    func beside() throws {
        let server = try serve(withVaults: true)
        #expect(try server.request("GET", "/index.html").text == "<p>")
        #expect(try server.request("GET", "/" + Self.object).status == 404)
        #expect(try server.put("bare/x", [1]).status == 200)
    }
}
