internal import VaultSystem

/// Where the test vectors lie: `TestVectors/` beside `Sources/`, found from this file's own place.
package enum Vectors {
    /// The folder `TestVectors`, as text.
    package static let root: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast(3).joined(separator: "/") + "/TestVectors"
    }()
}
