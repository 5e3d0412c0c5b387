/// Why no whole answer came.
package struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    /// What went wrong, as far as a caller decides by it.
    package enum Kind: Sendable, Equatable {
        /// libcurl can not be opened.
        case noLibrary
        /// The host's name is not known; nothing was sent.
        case unresolved
        /// No connection; nothing was sent.
        case unconnected
        /// The server could not prove who it is, or speaks no TLS; nothing was sent.
        case tls
        /// The proxy refused; nothing reached the server.
        case proxy
        /// The connection broke: the server may have acted on the request or not.
        case lost
        /// The answer ended early or is no HTTP.
        case garbled
        /// Nothing moved for too long.
        case stalled
        /// The answer is larger than the caller takes.
        case tooLarge
        /// Told to end by a callback of this module.
        case stopped
        /// The task was cancelled.
        case cancelled
        /// The process wants to stop.
        case interrupted
        /// Anything else.
        case broken
    }

    package let kind: Kind
    package let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}
