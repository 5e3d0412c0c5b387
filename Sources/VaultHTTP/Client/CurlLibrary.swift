internal import CCurlShim
internal import VaultSystem

/// What the receiver of a transfer's events wants.
enum TransferVerdict: Int32, Sendable {
    case goOn = 0
    /// End the transfer.
    case stop = 1
    /// Nothing can be taken or given now: ask again after `resume`.
    case wait = 2
}

/// A piece of a request's body.
enum BodyPiece: Sendable {
    /// Empty at the end.
    case bytes(ArraySlice<UInt8>)
    case wait
    case stop
}

/// Who is told what happens in a transfer, on the client's own thread.
protocol TransferEvents: AnyObject, Sendable {
    /// One line of the answer's head, its line end included.
    func head(_ line: [UInt8]) -> TransferVerdict
    /// A piece of the answer's body.
    func body(_ bytes: [UInt8]) -> TransferVerdict
    /// The next piece of the request's body, at most `limit` bytes.
    func fill(limit: Int) -> BodyPiece
    /// Begins the request's body again; false when that is impossible.
    func rewind() -> Bool
    /// The last call of a transfer.
    func ended(_ end: TransferEnd)
}

/// How a transfer ended.
struct TransferEnd: Sendable {
    /// Nil when a whole answer has arrived.
    var failure: HTTPFailure.Kind?
    /// The sentence of libcurl about a failure.
    var message: String
    var status: Int
    /// 10, 11 or 20.
    var httpVersion: Int
    /// Whether the connection had been used before.
    var isReused: Bool
}

/// A request as libcurl gets it.
struct Transfer: Sendable {
    var method: String
    var url: String
    var headers: [HTTPHeader]
    /// Nil for none.
    var bodySize: Int64?
    var proxy: Proxy?
}

/// libcurl's one thread of a client, with its connections.
///
/// The only file that calls libcurl, through a shim that opens it on first use.
@safe
final class CurlClient: @unchecked Sendable {
    // Sendable: the shim takes its own lock in every function.
    private let client: OpaquePointer

    /// Opens libcurl and starts the thread.
    ///
    /// * `tick`: Called about ten times a second while transfers are under way; true ends all of them.
    init(
        _ options: HTTPClient.Options, tick: @escaping @Sendable () -> Bool
    ) throws(HTTPFailure) {
        guard vc_load() == 0 else {
            // unsafe: the shim's text is static and terminated.
            let reason = unsafe String(cString: vc_load_error())
            throw HTTPFailure(.noLibrary, reason)
        }
        var native = unsafe vc_options()
        unsafe native.parallel = UInt32(clamping: max(1, options.parallel))
        unsafe native.stall_ms = max(1, options.stallMs)
        unsafe native.verify_tls = options.verifiesTLS ? 1 : 0
        // unsafe: the reference is taken back by `released`, which the shim calls exactly once.
        unsafe native.context = Unmanaged.passRetained(Tick(tick)).toOpaque()
        unsafe native.tick = { context in
            guard let context = unsafe context else { return 0 }
            return unsafe Unmanaged<Tick>.fromOpaque(context).takeUnretainedValue().body() ? 1 : 0
        }
        unsafe native.released = { context in
            guard let context = unsafe context else { return }
            unsafe Unmanaged<Tick>.fromOpaque(context).release()
        }
        // unsafe: the shim copies both texts before it returns.
        let made = unsafe Self.withText(options.certificateFile) { file in
            unsafe Self.withText(options.certificateFolder) { folder in
                unsafe native.ca_file = file
                unsafe native.ca_folder = folder
                return unsafe vc_client_new(&native)
            }
        }
        guard let made = unsafe made else { throw HTTPFailure(.broken, "no thread for the network") }
        unsafe client = made
    }

    deinit {
        // unsafe: the pointer is this object's own; transfers under way are told that they end.
        unsafe vc_client_free(client)
    }

    /// Queues a transfer and gives its number.
    ///
    /// - Throws: `broken` without memory; `events` is not called then.
    func start(_ transfer: Transfer, _ events: any TransferEvents) throws(HTTPFailure) -> UInt64 {
        let receiver = Receiver(events)
        var callbacks = unsafe vc_events()
        // unsafe: the reference is taken back by `ended`, the last callback, or below where none follows.
        let reference = unsafe Unmanaged.passRetained(receiver)
        unsafe callbacks.context = reference.toOpaque()
        unsafe callbacks.head = { context, bytes, count in
            unsafe Receiver.of(context).head(Receiver.array(bytes, count)).rawValue
        }
        unsafe callbacks.body = { context, bytes, count in
            unsafe Receiver.of(context).body(Receiver.array(bytes, count)).rawValue
        }
        unsafe callbacks.fill = { context, bytes, count, given in
            unsafe Receiver.fill(context, bytes, count, given)
        }
        unsafe callbacks.rewind = { context in
            unsafe Receiver.of(context).rewind() ? TransferVerdict.goOn.rawValue : TransferVerdict.stop.rawValue
        }
        unsafe callbacks.ended = { context, result in
            guard let context = unsafe context, let result = unsafe result else { return }
            let end = unsafe Receiver.end(result.pointee)
            unsafe Unmanaged<Receiver>.fromOpaque(context).takeRetainedValue().events.ended(end)
        }
        let number = unsafe queue(transfer, &callbacks)
        guard number != 0 else {
            unsafe reference.release()
            throw HTTPFailure(.broken, "no memory for a request")
        }
        return number
    }

    /// Ends a transfer that is still under way.
    func cancel(_ number: UInt64) {
        unsafe vc_cancel(client, number)  // unsafe: the client lives as long as this object
    }

    /// Goes on with a transfer that waits.
    func resume(_ number: UInt64) {
        unsafe vc_resume(client, number)  // unsafe: the client lives as long as this object
    }

    private func queue(_ transfer: Transfer, _ callbacks: inout vc_events) -> UInt64 {
        var lines = transfer.headers.map(\.line)
        defer {
            // The shim has its own copies, which it clears itself.
            for index in lines.indices where transfer.headers[index].isSecret {
                for position in lines[index].indices { lines[index][position] = 0 }
            }
        }
        // unsafe: every pointer lives until vc_start, which copies all texts, has returned.
        return unsafe withPointers(lines[...], []) { pointers in
            unsafe transfer.method.withCString { method in
                unsafe transfer.url.withCString { url in
                    unsafe Self.withText(transfer.proxy?.text) { proxy in
                        unsafe pointers.withUnsafeBufferPointer { list in
                            var request = unsafe vc_request()
                            unsafe request.method = method
                            unsafe request.url = url
                            unsafe request.headers = list.baseAddress
                            unsafe request.header_count = list.count
                            unsafe request.body_size = transfer.bodySize ?? -1
                            unsafe request.proxy = proxy
                            return unsafe vc_start(client, &request, &callbacks)
                        }
                    }
                }
            }
        }
    }

    /// Lets `body` use the addresses of terminated texts.
    private func withPointers<Result>(
        _ lines: ArraySlice<[UInt8]>, _ done: [UnsafePointer<CChar>?],
        _ body: ([UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        guard let first = lines.first else { return unsafe body(done) }
        // unsafe: the address is used inside the closure only, by the calls nested in it.
        return unsafe first.withUnsafeBytes { buffer in
            let text = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            return unsafe withPointers(lines.dropFirst(), done + [text], body)
        }
    }

    private static func withText<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let text else { return body(nil) }
        return unsafe text.withCString { pointer in unsafe body(pointer) }
    }
}

/// The closure that a client asks whether to go on.
private final class Tick: Sendable {
    let body: @Sendable () -> Bool

    init(_ body: @escaping @Sendable () -> Bool) {
        self.body = body
    }
}

/// A receiver of events as one address.
private final class Receiver: Sendable {
    let events: any TransferEvents

    init(_ events: any TransferEvents) {
        self.events = events
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> any TransferEvents {
        guard let context = unsafe context else { return NoEvents.shared }
        // unsafe: the shim keeps the reference until `ended`.
        return unsafe Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().events
    }

    static func array(_ bytes: UnsafeRawPointer?, _ count: Int) -> [UInt8] {
        // unsafe: libcurl lends `count` bytes for the length of the callback.
        unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }

    static func fill(
        _ context: UnsafeMutableRawPointer?, _ bytes: UnsafeMutableRawPointer?, _ count: Int,
        _ given: UnsafeMutablePointer<Int>?
    ) -> Int32 {
        switch unsafe of(context).fill(limit: count) {
        case .wait: return TransferVerdict.wait.rawValue
        case .stop: return TransferVerdict.stop.rawValue
        case .bytes(let piece):
            guard let target = unsafe bytes, piece.count <= count else { return TransferVerdict.stop.rawValue }
            unsafe piece.withUnsafeBytes { source in
                guard let start = source.baseAddress else { return }
                // unsafe: the target holds `count` bytes, and the piece has no more.
                unsafe target.copyMemory(from: start, byteCount: piece.count)
            }
            unsafe given?.pointee = piece.count
            return TransferVerdict.goOn.rawValue
        }
    }

    static func end(_ result: vc_result) -> TransferEnd {
        var result = result
        // unsafe: the shim terminates the text.
        let message = unsafe withUnsafeBytes(of: &result.message) { buffer in
            unsafe String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        }
        return TransferEnd(
            failure: kind(result.ending), message: message, status: Int(result.status),
            httpVersion: Int(result.http_version), isReused: result.reused != 0)
    }

    private static func kind(_ ending: vc_ending) -> HTTPFailure.Kind? {
        switch ending {
        case VC_ANSWERED: nil
        case VC_UNRESOLVED: .unresolved
        case VC_UNCONNECTED: .unconnected
        case VC_TLS: .tls
        case VC_PROXY: .proxy
        case VC_LOST: .lost
        case VC_GARBLED: .garbled
        case VC_STALLED: .stalled
        case VC_STOPPED: .stopped
        case VC_CANCELLED: .cancelled
        case VC_INTERRUPTED: .interrupted
        default: .broken
        }
    }
}

/// Stands in where a callback comes without its context, which does not happen.
private final class NoEvents: TransferEvents {
    static let shared = NoEvents()

    func head(_ line: [UInt8]) -> TransferVerdict { .stop }
    func body(_ bytes: [UInt8]) -> TransferVerdict { .stop }
    func fill(limit: Int) -> BodyPiece { .stop }
    func rewind() -> Bool { false }
    func ended(_ end: TransferEnd) {}
}
