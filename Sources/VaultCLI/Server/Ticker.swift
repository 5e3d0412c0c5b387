/// Reminds an observer once a second, while a remote is waited for, that time passes.
final class Ticker: Sendable {
    private let task: Task<Void, any Error>

    init(_ observer: ProgressReporter) {
        task = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                observer.tick()
            }
        }
    }

    func stop() {
        task.cancel()
    }
}
