internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The API of a vault server: takes a request apart, checks who asks, and has it done (04 §3).
final class VaultService: RequestHandler {
    let store: ServedStore?
    let site: StaticSite?
    let access: AccessControl
    let lanes: Lanes
    let uploads: UploadSessions
    let signer: URLSigner
    let budget: MemoryBudget
    let limits: ServerLimits
    let clock: any Clock
    let log: AccessLog?
    /// Tells the operator why requests fail.
    private let failures: FailureReport

    init(
        store: ServedStore?, site: StaticSite?, access: AccessControl, lanes: Lanes, signer: URLSigner,
        log: AccessLog?, configuration: ServerConfiguration
    ) {
        self.store = store
        self.site = site
        self.access = access
        self.lanes = lanes
        self.signer = signer
        self.log = log
        limits = configuration.limits
        clock = configuration.environment.clock
        failures = FailureReport(configuration.report)
        budget = MemoryBudget(limits.memory)
        uploads = UploadSessions(limits: limits, clock: clock)
    }

    // MARK: The four calls

    func begin(_ exchange: Exchange) {
        let method = exchange.method
        let target = RequestTarget(exchange.target)
        let task = RequestTask(
            method: method, path: target?.path ?? "", startedNs: log == nil ? 0 : clock.monotonicNs)
        exchange.task = task
        do {
            guard let target else { throw Refusal(400, "Bad request target") }
            let length = try bodyLength(exchange)
            // Without vaults every path is one of the published folder, whatever it looks like.
            let isSite = store == nil && target.path != "/info/health"
            let route = isSite ? .other : try Route(method: method, path: target.path)
            let request = Request(exchange: exchange, task: task, target: target, bodyLength: length)
            task.vault = route.vault
            try plan(route, request)
            // A route that wants no body gets no large one.
            if task.sink == nil, (length ?? 0) > 64 << 10 { throw Refusal.tooLarge }
        } catch {
            exchange.answer(reply(to: error, exchange))
        }
    }

    /// The answer to an error; what is the server's own failure is told to its operator.
    private func reply(to error: any Error, _ exchange: Exchange) -> Reply {
        let reply = Reply(error)
        if reply.status == Reply.failure.status { failures.add(error, exchange.task?.vault) }
        return reply
    }

    func receive(_ bytes: [UInt8], _ exchange: Exchange) {
        guard let task = exchange.task else { return }
        task.receivedBytes += Int64(bytes.count)
        do {
            if let sink = task.sink {
                try sink.receive(bytes)
            } else if task.receivedBytes > 64 << 10 {
                throw Refusal.tooLarge
            }
        } catch {
            task.sink = nil
            exchange.answer(reply(to: error, exchange))
        }
    }

    func end(_ exchange: Exchange) {
        guard let task = exchange.task, let finish = task.finish else {
            exchange.answer(.failure)
            return
        }
        // What it captured, a body above all, goes with it.
        task.finish = nil
        task.sink = nil
        let step: Step
        do { step = try finish() } catch { step = .reply(reply(to: error, exchange)) }
        switch step {
        case .reply(let reply): exchange.answer(reply)
        case .work(let lane, let body):
            exchange.suspend()
            hand(body, lane, exchange)
        }
    }

    /// Has work done by another thread, which answers in the end.
    private func hand(_ body: @escaping @Sendable () throws -> Step, _ lane: VaultID?, _ exchange: Exchange) {
        let isTaken = lanes.submit(lane: lane) {
            let step: Step
            do { step = try body() } catch { step = .reply(self.reply(to: error, exchange)) }
            switch step {
            case .reply(let reply):
                exchange.answer(reply)
                exchange.resume()
            case .work(let lane, let body): self.hand(body, lane, exchange)
            }
        }
        if !isTaken {
            exchange.answer(Refusal.busy.reply)
            exchange.resume()
        }
    }

    func finished(_ exchange: Exchange, completed: Bool, sent: Int64) {
        guard let task = exchange.task else { return }
        exchange.task = nil
        log?.add(
            AccessLog.Record(
                client: exchange.client, method: task.method, path: task.path, status: exchange.answered?.status ?? 0,
                received: task.receivedBytes, sent: sent,
                durationNs: clock.monotonicNs - task.startedNs, token: task.tokenName.withLock { $0 },
                isComplete: completed))
    }

    /// The announced length of the body: 0 without one, nil when it comes in pieces of unknown number.
    private func bodyLength(_ exchange: Exchange) throws(Refusal) -> Int64? {
        let text = exchange.header("Content-Length")
        if exchange.header("Transfer-Encoding") != nil {
            // Two lengths are how requests are smuggled past a proxy.
            guard text == nil else { throw Refusal(400, "Two body lengths") }
            return nil
        }
        guard let text else { return 0 }
        guard exchange.headerCount("Content-Length") == 1, let length = Int64(text), length >= 0 else {
            throw Refusal(400, "Bad Content-Length")
        }
        return length
    }

    // MARK: Routes

    private func plan(_ route: Route, _ request: Request) throws {
        let task = request.task
        switch route {
        case .serverHealth: task.finish = { .reply(.json(.record(["status": .string("ok")]))) }
        case .other: try planOther(request)
        default:
            guard let store else { throw Refusal.notFound }
            try plan(route, request, store)
        }
    }

    private func plan(_ route: Route, _ request: Request, _ store: ServedStore) throws {
        switch route {
        case .serverHealth, .other: return
        case .read(let vault, let path): planRead(request, store, vault, path)
        case .readBase64(let vault, let path): planReadBase64(request, store, vault, path)
        case .list(let vault): planList(request, store, vault)
        case .vaultHealth(let vault): planHealth(request, store, vault)
        case .zip(let vault): try planZip(request, store, vault)
        case .batch(let vault): try planBatch(request, store, vault)
        case .write(let vault, let path): try planWrite(request, store, vault, path)
        case .delete(let vault, let path): try planDelete(request, store, vault, path)
        case .destroy(let vault): try planDestroy(request, store, vault)
        case .presignedInitiate(let vault): try planInitiate(request, store, vault)
        case .presignedComplete(let vault): try planComplete(request, store, vault)
        case .presignedCancel(let vault): try planCancel(request, store, vault)
        case .presignedReadURL(let vault, let path): planReadURL(request, vault, path)
        case .sentPart(let vault, let upload, let part): try planPart(request, store, vault, upload, part)
        case .signedFile(let vault, let path): try planSignedFile(request, store, vault, path)
        }
    }

    /// Published files, if there are any.
    private func planOther(_ request: Request) throws(Refusal) {
        guard let site else { throw .notFound }
        let method = request.task.method
        guard method == "GET" || method == "HEAD" else { throw Refusal(405, "Method Not Allowed") }
        let path = request.target.path
        let conditions = Conditions(request.exchange)
        request.task.finish = { .reply(try site.file(path, conditions)) }
    }
}

/// A request while its plan is made, on the library's thread.
struct Request {
    let exchange: Exchange
    let task: RequestTask
    let target: RequestTarget
    /// Nil when the body comes in pieces of unknown number.
    let bodyLength: Int64?
}
