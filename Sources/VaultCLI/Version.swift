/// What this build is.
package enum Version {
    package static let number = "0.1.0"
    /// The vault formats it reads and writes.
    package static let formats = "1-2"
    /// The version of the reference program it is compatible with.
    package static let reference = "0.26.0"
}
