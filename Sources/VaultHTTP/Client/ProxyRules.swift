/// Which requests go through a proxy (spec 10 B.6), from the variables that all programs share.
package struct ProxyRules: Sendable, Equatable {
    private var secure: String?
    private var plain: String?
    private var exceptions: [String] = []

    /// No proxy.
    package init() {}

    /// Reads the environment.
    ///
    /// * `variable`: The value of a variable; nil when it is not set or empty.
    package init(variable: (String) -> String?) {
        func either(_ name: String) -> String? { variable(name) ?? variable(name.uppercased()) }
        let all = either("all_proxy")
        secure = either("https_proxy") ?? all
        // A web server's child gets the header `Proxy` of its request as HTTP_PROXY: nobody of this machine set it.
        let upper = variable("REQUEST_METHOD") == nil ? variable("HTTP_PROXY") : nil
        plain = variable("http_proxy") ?? upper ?? all
        exceptions = (either("no_proxy") ?? "").split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    /// The proxy for a URL; nil for none.
    ///
    /// This machine is never asked through another one.
    func proxy(for url: WebURL) -> String? {
        guard let proxy = url.isSecure ? secure : plain, !url.isLoopback else { return nil }
        return exceptions.contains { Self.matches($0, url) } ? nil : proxy
    }

    /// Whether an entry of `no_proxy` names the host: itself, a domain above it, or `*`; with a port only that port.
    private static func matches(_ entry: String, _ url: WebURL) -> Bool {
        if entry == "*" { return true }
        var name = entry[...]
        if let colon = name.lastIndex(of: ":"), !name[..<colon].contains(":") || name[..<colon].hasSuffix("]"),
            let port = UInt16(name[name.index(after: colon)...])
        {
            guard port == url.port ?? (url.isSecure ? 443 : 80) else { return false }
            name = name[..<colon]
        }
        if name.hasPrefix("*") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard !name.isEmpty else { return false }
        var host = url.host[...]
        if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        return host == name || host.hasSuffix("." + name)
    }
}
