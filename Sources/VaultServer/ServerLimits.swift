/// Every bound of the server in one place.
package struct ServerLimits: Sendable {
    /// Open connections, and those of one client address.
    package var connections = 1024
    package var connectionsPerClient = 512
    /// A connection without traffic, or whose request head takes longer, is closed after so many seconds.
    package var idleSeconds = 30
    /// Bytes per second that a body or an answer must move in the mean, after a grace of `idleSeconds`.
    package var slowestRate = 1024
    /// Bytes of a JSON body.
    package var jsonBody = 16 << 20
    /// Bytes of one file.
    package var fileBytes: Int64 = 8 << 30
    /// Bytes that all bodies and batch answers in memory may take together.
    package var memory = 256 << 20
    /// Bytes of the files that one batch reads.
    package var batchRead = 32 << 20
    /// Files of one listing.
    package var listedFiles = 4_000_000
    /// Unfinished uploads in parts.
    package var uploads = 256
    /// How long a signed address, and an unfinished upload, lives.
    package var signedSeconds: Int64 = 3600
    /// Threads that wait for disks.
    package var workers = 16
    /// How long a stop waits for requests under way.
    package var stopSeconds = 30
    /// Bytes that stay free on the disk: removing something takes a little room as well.
    package var reserve: Int64 = 16 << 20

    package init() {}

    /// Operations of a batch (04 §4).
    static let batchOperations = 100
    /// Values in a JSON body: 10,000 parts of an upload.
    static let jsonValues = 50_000
    static let jsonDepth = 8
    /// Bytes of a batch from somebody who may not write: a hundred reads of the longest ids.
    static let readingBatch = 128 << 10
    /// Bytes of a request target.
    static let targetBytes = 4096
    /// Files above this size are sent from the disk, never whole in memory.
    static let inlineBytes: Int64 = 64 << 10
    /// Bytes of a file that `read-base64` gives (04 §3).
    static let base64Bytes: Int64 = 3_750_000
    /// Bytes of a single write that wait in memory before they go to a file, and after which room is asked for again.
    static let inlineWrite = 1 << 20
    /// Parts of one upload, and their sizes (04 §7).
    static let parts = 10_000
    static let chosenPart: Int64 = 10 << 20
    static let smallestPart: Int64 = 5 << 20
    /// Bytes of a token file.
    static let tokenFile = 1 << 20
}
