/// Which requests go through a proxy (spec 10 B.6), from the variables that all programs share.
package struct ProxyRules: Sendable, Equatable {
    private var secure: Setting?
    private var plain: Setting?
    private var exceptions: [String] = []

    /// A variable and what it names.
    private struct Setting: Sendable, Equatable {
        let variable: String
        /// Nil for what is no proxy.
        let proxy: Proxy?
    }

    /// No proxy.
    package init() {}

    /// Reads the environment.
    ///
    /// * `variable`: The value of a variable; nil when it is not set or empty.
    package init(variable: (String) -> String?) {
        func setting(_ name: String) -> Setting? {
            variable(name).map { Setting(variable: name, proxy: Proxy($0)) }
        }
        func either(_ name: String) -> Setting? { setting(name) ?? setting(name.uppercased()) }
        let all = either("all_proxy")
        secure = either("https_proxy") ?? all
        // A web server's child gets the header `Proxy` of its request as HTTP_PROXY: nobody of this machine set it.
        let upper = variable("REQUEST_METHOD") == nil ? setting("HTTP_PROXY") : nil
        plain = setting("http_proxy") ?? upper ?? all
        let names = variable("no_proxy") ?? variable("NO_PROXY") ?? ""
        exceptions = names.split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    /// The proxy for a URL; nil for none.
    ///
    /// This machine is never asked through another one.
    ///
    /// - Throws: `proxy` where the variable names none; its value, which may hold a password, is not told.
    func proxy(for url: WebURL) throws(HTTPFailure) -> Proxy? {
        guard let setting = url.isSecure ? secure : plain, !url.isLoopback else { return nil }
        for exception in exceptions where Self.matches(exception, url) { return nil }
        guard let proxy = setting.proxy else {
            throw HTTPFailure(.proxy, "the value of \(setting.variable) is no address of a proxy")
        }
        return proxy
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
