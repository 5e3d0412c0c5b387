import Testing
import VaultCore
import VaultFormat
import VaultSystem

@testable import VaultHTTP

@Suite("Addresses of servers")
struct AddressTests {
    @Test(arguments: [
        ("https://Example.ORG", "https://example.org/", "https://example.org"),
        ("https://example.org:443/a/", "https://example.org/a/", "https://example.org"),
        ("http://127.0.0.1:8420", "http://127.0.0.1:8420/", "http://127.0.0.1:8420"),
        ("HTTPS://[2001:DB8::1]:8443/x", "https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443"),
        ("https://bücher.example/päth", "https://xn--bcher-kva.example/p%C3%A4th", "https://xn--bcher-kva.example"),
        ("https://例え。テスト", "https://xn--r8jz45g.xn--zckzah/", "https://xn--r8jz45g.xn--zckzah"),
        ("https://FAẞ.example", "https://xn--fa-hia.example/", "https://xn--fa-hia.example"),
        ("https://example.org./", "https://example.org/", "https://example.org"),
    ])
    func `are read and spelled in one way`(text: String, whole: String, origin: String) {
        let url = WebURL(text)
        #expect(url?.text == whole)
        #expect(url?.origin == origin)
    }

    @Test(arguments: [
        "", "example.org", "ftp://example.org", "https://", "https:///x", "https://user@example.org",
        "https://user:password@example.org", "https://example.org:0", "https://example.org:65536", "https://a b/",
        "https://example.org/a b", "https://example.org/\u{7}", "https://example.org/%zz", "https://exa_mple..org",
        "https://[::1", "https://[1.2.3.4]", "https://[::1%25eth0]", "https://ex\u{200B}ample.org",
        "https://example.org\\@evil.org", "https://example.org:80:80", "https://" + String(repeating: "a", count: 64),
    ])
    func `that nobody should follow are refused`(text: String) {
        #expect(WebURL(text) == nil)
    }

    @Test(arguments: [
        ("http://localhost", true), ("http://vault.localhost", true), ("http://127.0.0.1", true),
        ("http://127.8.9.10:1", true), ("http://[::1]:80", true), ("http://127.1", false), ("http://0x7f.0.0.1", false),
        ("http://127.0.0.1.example.org", false), ("http://2130706433", false), ("http://10.0.0.1", false),
        ("http://192.168.1.2", false), ("http://[::ffff:127.0.0.1]", false), ("http://localhost.example.org", false),
        ("http://0.0.0.0", false), ("http://127.0.0.01", false),
    ])
    func `of this machine are told from others`(text: String, isLoopback: Bool) {
        #expect(WebURL(text)?.isLoopback == isLoopback)
    }

    @Test func `without encryption are refused but for this machine and what is allowed`() throws {
        #expect(throws: VaultError(.cleartextRefused, "")) {
            try HTTPRemote.checked("http://example.org/x", allowing: [])
        }
        #expect(throws: VaultError(.cleartextRefused, "")) {
            try HTTPRemote.checked("http://example.org:8080", allowing: ["http://example.org"])
        }
        #expect(throws: VaultError(.cleartextRefused, "")) {
            try HTTPRemote.checked("http://192.168.0.4", allowing: ["https://192.168.0.4"])
        }
        #expect(try HTTPRemote.checked("http://Example.org:80/x/", allowing: ["http://example.org"]).isSecure == false)
        #expect(try HTTPRemote.checked("http://localhost:1", allowing: []).isLoopback)
        #expect(throws: VaultError(.usage, "")) { try HTTPRemote.checked("https://h/?x", allowing: []) }
    }

    @Test func `of files escape the slashes of their ids`() throws {
        let base = try #require(WebURL("https://h/deep/base//"))
        let file = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        #expect(
            base.appending("/api/vault/read/v/" + WebURL.segment(file.path)).text
                == "https://h/deep/base/api/vault/read/v/bare%2Fdata%2Fobj-cas-imm-0123456789ab")
    }

    @Test func `a short vault id is for folders only`() throws {
        #expect(throws: VaultError(.refused, "")) {
            try HTTPRemote("https://example.org", vaultID: VaultID("abcd"), environment: .production())
        }
    }

    @Test(
        arguments: [
            (["https_proxy": "http://p:1"], "https://h", "http://p:1"),
            (["https_proxy": "http://p:1"], "http://h", nil),
            (["HTTPS_PROXY": "http://p:1"], "https://h", "http://p:1"),
            (["HTTP_PROXY": "http://p:1"], "http://h", "http://p:1"),
            (["HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"], "http://h", nil),
            (["all_proxy": "http://p:1"], "http://h", "http://p:1"),
            (["all_proxy": "http://p:1"], "https://127.0.0.1", nil),
            (["all_proxy": "http://p:1", "no_proxy": "*"], "https://h", nil),
            (["all_proxy": "http://p:1", "NO_PROXY": "x, example.org"], "https://a.example.org", nil),
            (["all_proxy": "http://p:1", "no_proxy": ".example.org"], "https://example.org", nil),
            (["all_proxy": "http://p:1", "no_proxy": "ample.org"], "https://example.org", "http://p:1"),
            (["all_proxy": "http://p:1", "no_proxy": "h:443"], "https://h", nil),
            (["all_proxy": "http://p:1", "no_proxy": "h:444"], "https://h", "http://p:1"),
            (["all_proxy": "http://p:1", "no_proxy": "2001:db8::1"], "https://[2001:db8::1]:5", nil),
        ] as [([String: String], String, String?)])
    func `go through the proxy that the environment names`(
        environment: [String: String], url: String, proxy: String?
    ) throws {
        let rules = ProxyRules { environment[$0] }
        let address = try #require(WebURL(url))
        #expect(try rules.proxy(for: address)?.text == proxy)
    }

    @Test(arguments: [
        "p", "p:1", "http://p:1", "http://p:1/", "HTTPS://user:pass@p:1", "socks5h://user:p%40ss@[::1]:1080",
        "user@p:3128", "socks4a://p",
    ])
    func `of proxies are taken as they stand`(text: String) {
        #expect(Proxy(text)?.text == text)
    }

    @Test(arguments: [
        "", "http://", "ftp://user:Secret77@p", "http://user:Secret77@p:99999", "http://user:Secret77@p:1/path",
        "http://user:Secret 77@p", "http://user:Sec%ret77@p", "http://user:Secret77@p@q", "user:Secret77@",
        "http://user:Secr/et77@p:1", "http://user:Secr#et77@p:1",
    ])
    func `that are none of a proxy are refused without being told`(text: String) throws {
        #expect(Proxy(text) == nil)
        let rules = ProxyRules { $0 == "https_proxy" ? text : nil }
        let url = try #require(WebURL("https://h"))
        let failure = #expect(throws: HTTPFailure.self) { try rules.proxy(for: url) }
        #expect(failure?.kind == .proxy)
        #expect(failure?.message == "the value of https_proxy is no address of a proxy")
    }

    @Test func `of a proxy are taken out of messages, also of one that was cut off`() throws {
        let proxy = try #require(Proxy("http://user:Secret77@p:1"))
        #expect(proxy.hidden(in: "no scheme in 'http://user:Secret77@p:1', sorry") == "no scheme in '<proxy>', sorry")
        #expect(proxy.hidden(in: "http://user:Secret77@p:1http://user:Secret77@p:1") == "<proxy><proxy>")
        #expect(proxy.hidden(in: "nothing of it") == "nothing of it")
        let start = String(repeating: "x", count: 255 - 18)
        #expect(proxy.hidden(in: start + "http://user:Secret") == start + "<proxy>")
    }

    @Test(
        arguments: [
            ("0", 0), ("120", 120_000), ("99999999999999999999", 86_400_000), ("-1", nil), ("", nil), ("soon", nil),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 1000), ("Sunday, 06-Nov-94 08:49:37 GMT", 1000),
            ("Sun Nov  6 08:49:37 1994", 1000), ("Sun, 06 Nov 1994 08:49:30 GMT", 0),
            ("Mon, 07 Nov 1994 08:49:37 GMT", 86_400_000), ("Sun, 06 Nox 1994 08:49:37 GMT", nil),
        ] as [(String, Int64?)])
    func `a wait is asked for in seconds or by a date`(text: String, milliseconds: Int64?) {
        #expect(RetryAfter.delay(text, nowMs: 784_111_776_000) == milliseconds)
    }
}
