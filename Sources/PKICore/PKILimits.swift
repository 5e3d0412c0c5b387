/// The bounds of what is read (08-pki §4, §5, §8, §9).
package enum PKILimits {
    /// Bytes of a public bundle or a contact file.
    package static let bundle = 1 << 20
    /// Bytes of a detached signature.
    package static let signature = 64 << 10
    /// Bytes of a key file or of a pair's metadata.
    package static let keyFile = 1 << 20
    /// Bytes of a manifest.
    package static let manifest = 256 << 20
    /// Folders within folders that a manifest looks into.
    package static let manifestDepth = 256
    /// Values and nesting of the JSON in small files.
    package static let jsonValues = 4096
    package static let jsonDepth = 32
    /// Recipients of one sealed message.
    package static let recipients = 1024
    /// Bytes of a label.
    package static let label = 4096
}
