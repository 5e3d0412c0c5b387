/// Every bound that keeps hostile input from costing more than it should.
///
/// Sizes are bytes unless the name says otherwise. The values lie well above what the reference writes.
package enum Limits {
    /// Nesting of arrays and objects in JSON.
    package static let jsonDepth = 64
    /// Values (of any type, nested ones counted) in one JSON document.
    package static let jsonValues = 4_000_000
    /// Digits in a number that is kept as text.
    package static let jsonNumberLength = 4_300

    /// Plaintext of a commit, tag, index or cache object.
    package static let metadataPlaintext = 64 << 20
    /// Ciphertext of a tree object; the plaintext is smaller.
    package static let treeCiphertext = 256 << 20
    /// Plaintext of a ref.
    package static let refPlaintext = 64 << 10
    /// Plaintext of a key object.
    package static let keyPlaintext = 64 << 10
    /// Plaintext of a branch index.
    package static let indexPlaintext = 64 << 20
    /// Plaintext of a blob that is opened in one piece.
    package static let blobPlaintext = 4 << 30
    /// Ciphertext of an object that travels together with others; what is larger goes a way of its own (04 §4.4).
    package static let largeObject: Int64 = 4 << 20

    /// UTF-8 of one encrypted text (file name, commit message): 01-keys-and-crypto §5.
    package static let metadataText = 740
    /// Base64 characters of one encrypted text.
    package static let metadataEncoded = 1_024
    /// Base64 characters of a signature.
    package static let signatureEncoded = 256
    /// Characters of a commit's author key id.
    package static let authorKeyID = 128
    /// Attestations of one commit, and parents of one commit.
    package static let commitListItems = 65_536
    /// The latest time a commit can have, milliseconds since 1970.
    package static let commitTimestampMs: Int64 = 99_999_999_999_999
    /// Characters of a tag's message.
    package static let tagMessage = 4_096

    /// A whole path; Linux itself refuses far shorter ones when they are used.
    package static let pathLength = 65_536
    /// Levels of folders followed when a tree is walked.
    package static let treeDepth = 4_096
    /// Files and folders of one tree that are followed: a few objects can name each other into astronomical numbers.
    package static let treePaths = 4_000_000
    /// Segments of a path that is written; deeper ones can be read.
    package static let editDepth = 512

    /// Passphrase length plus vault id length that the reference's commands accept: 01-keys-and-crypto §1.3.
    package static let usableKeyLength = 248
    /// Key text of any kind.
    package static let keyText = 65_536

    /// A `.gitignore` file.
    package static let ignoreFile = 1 << 20

    /// A tag entry dated further ahead than this loses against one that is not: 02-objects §10.
    package static let tagClockSkewMs: Int64 = 86_400_000

    /// Entries of a zip that are looked at when searching it for secrets.
    package static let zipEntries = 1_000_000
    /// Bytes of a zip's directory that are read.
    package static let zipDirectory = 64 << 20
    /// Bytes of one zip member that are looked at when searching it for a private key.
    package static let zipMember = 64 << 20
}
