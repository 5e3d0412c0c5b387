internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Where the result of a verb goes: standard output, or a file that appears whole and only after success.
struct ResultPlace {
    /// As it was typed or made from what was.
    let typed: [UInt8]
    private let call: Call
    /// Nil for standard output.
    private let file: FilePath?

    /// Looks at the place before anything is done.
    ///
    /// * `output`: `-o` of the verb, whose value stands before the other.
    /// * `otherwise`: The place without `-o`; nil is standard output.
    /// - Throws: `refused` for a file that stands there, unless `--force` allows to replace it.
    init(_ call: Call, _ output: OptionSpec, otherwise: [UInt8]?) throws {
        try self.init(call, at: call.arguments.last(output) ?? otherwise ?? InputFile.standardInput)
    }

    /// Looks at a place that no option names.
    init(_ call: Call, at typed: [UInt8]) throws {
        self.call = call
        self.typed = typed
        guard typed != InputFile.standardInput else {
            guard !call.isJSON else {
                throw Usage.error("with '--json' standard output is taken, so '-o' needs a file", about: [call.verb])
            }
            file = nil
            return
        }
        file = try Self.checked(call, typed)
    }

    private static func checked(_ call: Call, _ typed: [UInt8]) throws -> FilePath {
        // Behind a link, too, nothing in the store of a vault is written.
        let path = try call.outputFile(typed)
        let found: OutputPlace
        do throws(Errno) {
            _ = try call.surroundings.vault.fileSystem.status(of: path.parent, followLinks: true)
        } catch {
            throw VaultError.io(error, "cannot open the folder of \(call.shown(path))", path: path.text)
        }
        do throws(Errno) {
            found = try call.surroundings.vault.fileSystem.outputPlace(path)
        } catch {
            throw VaultError.io(error, "cannot write \(call.shown(path))", path: path.text)
        }
        if case .file(_, .some) = found, !call.has(PkiCommand.force) {
            throw VaultError(
                .refused, "\(call.shown(path)) exists already", hint: "--force replaces it", path: path.text)
        }
        return path
    }

    /// Whether the bytes themselves go to standard output, where nothing else may then be told.
    var isStandardOutput: Bool { file == nil }

    /// The place for JSON: null for standard output.
    var json: JSONValue { isStandardOutput ? .null : .name(typed) }

    /// The place for a line of text.
    var shown: String { isStandardOutput ? "standard output" : FilePath(bytes: typed).text }

    /// Writes the envelope of a message while it is made, to a file; gives the number of its bytes.
    func seal(
        _ message: Message, to addressee: SealedEnvelope.Addressee, signer: SigningPrivateKey?
    ) throws -> Int {
        guard let file else {
            // Half an envelope is of no use to anybody.
            let envelope = try SealedEnvelope.seal(message, to: addressee, signer: signer)
            try call.checkStop()
            try call.output.write(envelope)
            return envelope.count
        }
        return try call.stoppable {
            try ResultFile.write(
                to: file, replacing: call.has(PkiCommand.force), access: .anybody,
                fileSystem: call.surroundings.vault.fileSystem, cancellation: call.surroundings.cancellation
            ) { (open) throws(PKIError) in
                try SealedEnvelope.seal(message, to: addressee, signer: signer, writingTo: open, name: shown)
            }
        }
    }

    /// Writes the result.
    func write(_ bytes: [UInt8], access: ResultFile.Access = .anybody) throws {
        guard let file else {
            try call.checkStop()
            return try call.output.write(bytes)
        }
        try call.stoppable {
            try ResultFile.write(
                bytes, to: file, replacing: call.has(PkiCommand.force), access: access,
                fileSystem: call.surroundings.vault.fileSystem, cancellation: call.surroundings.cancellation)
        }
    }
}
