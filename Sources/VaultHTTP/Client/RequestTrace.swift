/// What is told of one request that has ended: no header, no query and nothing of a body.
package struct RequestTrace: Sendable {
    package let method: String
    /// Without its query, which may be a signature.
    package let url: String
    /// 0 when no answer came.
    package let status: Int
    /// Why there is no whole answer.
    package let failure: String?
    package let milliseconds: Int64
    /// The size of the request's body, and the bytes of the answer's that were taken.
    package let sent: Int64
    package let received: Int64
    /// 10, 11 or 20; 0 when no answer came.
    package let httpVersion: Int
    /// Whether it went over a connection that was open already.
    package let isReused: Bool

    /// One line for people.
    package var line: String {
        let outcome = failure.map { "failed: \($0)" } ?? "\(status)"
        return "\(method) \(url) \(outcome) \(milliseconds) ms"
    }
}
