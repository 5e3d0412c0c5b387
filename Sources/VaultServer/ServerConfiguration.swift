package import VaultCore
package import VaultSystem

/// What a server serves, where, and to whom.
package struct ServerConfiguration: Sendable {
    /// The folder that holds one folder per vault; nil for a server of published files only.
    package var root: FilePath?
    /// A folder whose files are given to everybody.
    package var published: FilePath?
    /// No request may write.
    package var isReadOnly = false
    /// A numeric address.
    package var address = "127.0.0.1"
    /// 0 takes a free one.
    package var port: UInt16 = 8420
    /// The file of names and hashes of access tokens; without it nobody is asked for one.
    package var tokens: FilePath?
    /// PEM files of a certificate chain and its key.
    package var certificate: FilePath?
    package var privateKey: FilePath?
    /// Where one line per request goes.
    package var accessLog: FilePath?
    /// The base URL by which clients reach the server when it is not what they put into `Host`.
    package var publicURL: String?
    package var limits = ServerLimits()
    package var environment: VaultEnvironment
    /// Told what an operator should know: a token file that can not be read, a log that can not be written.
    package var report: @Sendable (String) -> Void = { _ in }

    package init(environment: VaultEnvironment) {
        self.environment = environment
    }
}
