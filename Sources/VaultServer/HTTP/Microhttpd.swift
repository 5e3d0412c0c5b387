internal import CMicrohttpdShim
internal import VaultCore
internal import VaultSystem

/// Where the requests of a server go; the four calls of one request follow each other, never at the same time.
protocol RequestHandler: AnyObject, Sendable {
    /// The head has arrived; an answer set now refuses the body.
    func begin(_ exchange: Exchange)
    /// A piece of the body; not called any more once an answer is set.
    func receive(_ bytes: [UInt8], _ exchange: Exchange)
    /// The request is there as a whole: now comes the answer, or `suspend`.
    func end(_ exchange: Exchange)
    /// The answer went out, or the client went away when it had so many bytes of it.
    func finished(_ exchange: Exchange, completed: Bool, sent: Int64)
}

/// One request of the library and its answer.
///
/// Used by one thread at a time: the library's, or between `suspend` and `resume` the one that works on it.
@safe
final class Exchange: @unchecked Sendable {
    private let pointer: OpaquePointer
    fileprivate let handler: any RequestHandler
    /// What the handler keeps about the request.
    var task: RequestTask?
    /// The status and size of the answer, once it is set.
    private(set) var answered: (status: Int, bytes: Int64)?
    /// The memory of the library's copy of the answer, which lives until the client has read it.
    private var charge: MemoryCharge?

    fileprivate init(_ pointer: OpaquePointer, _ handler: any RequestHandler) {
        unsafe self.pointer = unsafe pointer
        self.handler = handler
    }

    /// `GET`, `PUT` and so on, as sent.
    var method: String {
        // The library keeps the text as long as the request.
        unsafe ms_method(pointer).map { unsafe String(cString: $0) } ?? ""
    }

    /// The request target as sent, nothing decoded.
    var target: [UInt8] {
        // The shim keeps the terminated text as long as the request.
        guard let start = unsafe ms_target(pointer) else { return [] }
        return unsafe [UInt8](String(cString: start).utf8)
    }

    /// A header's value.
    func header(_ name: StaticString) -> String? {
        // A literal is terminated; the library keeps the value as long as the request, and it is copied here.
        let start = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        guard let value = unsafe ms_header(pointer, start) else { return nil }
        return unsafe String(cString: value)
    }

    /// How many headers have this name.
    func headerCount(_ name: StaticString) -> Int {
        // A literal is terminated.
        let start = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        return unsafe Int(ms_header_count(pointer, start))
    }

    /// The client's address.
    var client: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress else { return "-" }
            // The shim always terminates what it writes, within the size given.
            unsafe ms_client(pointer, start, 64)
            return unsafe String(cString: start)
        }
    }

    /// Sets the answer; only the first counts.
    func answer(_ reply: Reply) {
        guard answered == nil else { return }
        let size: Int64
        switch reply.body {
        case .bytes(let bytes):
            size = Int64(bytes.count)
            // The shim copies the bytes before it returns.
            let result = unsafe bytes.withUnsafeBytes { buffer in
                unsafe ms_answer_bytes(pointer, UInt32(reply.status), buffer.baseAddress, buffer.count)
            }
            guard result == 0 else { return }
            // From here on there is the copy alone.
            reply.charge?.shrink(to: bytes.count)
            charge = reply.charge
        case .file(let descriptor, let offset, let count):
            let taken = descriptor.take()
            guard taken >= 0 else { return answer(Refusal.busy.reply) }
            size = count
            // The shim owns the descriptor from here on.
            let result = unsafe ms_answer_file(
                pointer, UInt32(reply.status), taken, UInt64(offset), UInt64(count))
            guard result == 0 else { return }
        }
        answered = (reply.status, size)
        add("Content-Type", reply.contentType)
        for (name, value) in reply.headers { add(name, value) }
    }

    /// Lets go what only the answer needed.
    fileprivate func release() {
        charge = nil
    }

    private func add(_ name: StaticString, _ value: String) {
        // A literal is terminated, and the library copies both texts.
        let start = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        unsafe _ = value.withCString { unsafe ms_answer_header(pointer, start, $0) }
    }

    /// The answer comes later, from another thread; only inside `end`.
    func suspend() {
        // The request can not end before it is resumed.
        unsafe ms_suspend(pointer)
    }

    /// Gives the request back to the library, which sends the answer; the last call of the working thread.
    func resume() {
        // The request is suspended, so it is still there.
        unsafe ms_resume(pointer)
    }
}

/// How the library is set up.
struct HTTPOptions: Sendable {
    var address: String
    var port: UInt16
    var threads: Int
    var connections: Int
    var connectionsPerClient: Int
    var idleSeconds: Int
    var slowestRate: Int
    /// PEM texts of certificate and key.
    var tls: (certificate: [UInt8], key: [UInt8])?
}

/// The HTTP library while it serves.
@safe
final class HTTPServer: @unchecked Sendable {
    private let server: OpaquePointer
    /// Kept until the library has ended its threads, which call it.
    private let handler: Unmanaged<HandlerBox>
    /// The port that was bound.
    let port: UInt16

    /// Whether an address is one of this machine's loopback; nil when it is no numeric address.
    static func isLoopback(_ address: String) -> Bool? {
        // The text is lent for the call only.
        let answer = unsafe address.withCString { unsafe ms_is_loopback($0) }
        return answer < 0 ? nil : answer != 0
    }

    /// Opens the library, binds the address and starts to serve.
    ///
    /// - Throws: `notSupported` without the library, `ioError` when the address can not be bound, `usage` when the
    ///   certificate is refused.
    init(_ options: HTTPOptions, handler: any RequestHandler) throws(VaultError) {
        guard ms_load(options.tls == nil ? 0 : 1) == 0 else {
            // The shim keeps the text for the life of the process.
            let reason = unsafe ms_load_error().map { unsafe String(cString: $0) } ?? ""
            throw VaultError(
                .notSupported, "the HTTP server library can not be opened: \(reason)",
                hint: "apt-get install libmicrohttpd12")
        }
        var socket: Int32 = -1
        var bound: UInt16 = 0
        // Both are written during the call only.
        let code = unsafe options.address.withCString { unsafe ms_listen($0, options.port, &socket, &bound) }
        guard code == 0 else {
            throw .io(Errno(rawValue: code), "cannot listen on \(options.address) port \(options.port)")
        }
        port = bound
        unsafe self.handler = unsafe Unmanaged.passRetained(HandlerBox(handler))
        guard let server = unsafe Self.start(options, socket, self.handler) else {
            unsafe self.handler.release()
            throw VaultError(
                .usage,
                options.tls == nil
                    ? "the HTTP server library did not start" : "the TLS certificate and key are not accepted",
                hint: "both are PEM files: a certificate chain and its private key")
        }
        unsafe self.server = unsafe server
    }

    private static func start(
        _ options: HTTPOptions, _ socket: Int32, _ handler: Unmanaged<HandlerBox>
    ) -> OpaquePointer? {
        var raw = unsafe ms_options()
        unsafe raw.socket = socket
        unsafe raw.threads = UInt32(options.threads)
        unsafe raw.connections = UInt32(options.connections)
        unsafe raw.connections_per_client = UInt32(options.connectionsPerClient)
        unsafe raw.idle_seconds = UInt32(options.idleSeconds)
        unsafe raw.slowest_rate = UInt32(options.slowestRate)
        var handlers = unsafe ms_handlers()
        unsafe handlers.context = unsafe handler.toOpaque()
        unsafe handlers.begin = { context, pointer in
            guard let context = unsafe context, let pointer = unsafe pointer else { return nil }
            let handler = unsafe Unmanaged<HandlerBox>.fromOpaque(context).takeUnretainedValue().handler
            let exchange = unsafe Exchange(pointer, handler)
            handler.begin(exchange)
            // Taken back by `finished`, which is called exactly once for every handle.
            return unsafe Unmanaged.passRetained(exchange).toOpaque()
        }
        unsafe handlers.body = { handle, bytes, count in
            guard let handle = unsafe handle else { return }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(handle).takeUnretainedValue()
            // The library's buffer is valid for the length of this call; its bytes are copied.
            let copy = unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
            exchange.handler.receive(copy, exchange)
        }
        unsafe handlers.end = { handle in
            guard let handle = unsafe handle else { return }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(handle).takeUnretainedValue()
            exchange.handler.end(exchange)
        }
        unsafe handlers.finished = { handle, completed, sent in
            guard let handle = unsafe handle else { return }
            let exchange = unsafe Unmanaged<Exchange>.fromOpaque(handle).takeRetainedValue()
            exchange.handler.finished(exchange, completed: completed != 0, sent: Int64(clamping: sent))
            // Now, for the thread that answered may hold the exchange for a moment longer.
            exchange.release()
        }
        // Terminated copies that live until the library has read them.
        guard let tls = options.tls else { return unsafe ms_start(&raw, &handlers) }
        return unsafe (tls.certificate + [0]).withUnsafeBytes { certificate in
            unsafe (tls.key + [0]).withUnsafeBytes { key in
                unsafe raw.certificate = unsafe certificate.assumingMemoryBound(to: CChar.self).baseAddress
                unsafe raw.key = unsafe key.assumingMemoryBound(to: CChar.self).baseAddress
                return unsafe ms_start(&raw, &handlers)
            }
        }
    }

    // The server pointer below is valid until `stop`, which is called once, last.

    /// Takes no more connections.
    func drain() { unsafe ms_drain(server) }

    /// Requests that are not answered yet.
    var active: Int { unsafe Int(ms_active(server)) }

    /// Open connections.
    var connections: Int { unsafe Int(ms_connections(server)) }

    /// Ends connections that are too slow.
    func sweep() { unsafe ms_sweep(server) }

    /// Ends the library's threads; no request may be suspended.
    func stop() {
        unsafe ms_stop(server)
        // No thread of the library is left that could use it.
        unsafe handler.release()
    }
}

/// The handler as an object that C can hold.
private final class HandlerBox: Sendable {
    let handler: any RequestHandler

    init(_ handler: any RequestHandler) {
        self.handler = handler
    }
}
