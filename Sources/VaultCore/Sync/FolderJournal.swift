internal import VaultFormat
internal import VaultSystem

/// The files of a batch that get their names in one step, as they stand in the journal.
///
/// The journal is written when every new byte is durable in the scratch folder. From then on the batch counts: the
/// next writer finishes what a crash interrupts. Until then nothing has happened.
struct FolderJournal: Sendable, Equatable {
    /// A file that gets its name, or loses it.
    struct Step: Sendable, Equatable {
        let target: StorePath
        /// The staged file's name in the scratch folder; nil removes the target.
        let temporary: [UInt8]?
        /// Objects, keys, caches, index, clone refs, named refs, removals: a reader that follows refs never meets a hole.
        let order: Int

        /// Puts a file of a known kind in its place, or removes it.
        init(target: FileID, temporary: [UInt8]?) {
            self.init(target: StorePath(target), temporary: temporary)
        }

        init(target: StorePath, temporary: [UInt8]?) {
            self.target = target
            self.temporary = temporary
            order = temporary == nil && !target.isCache ? 6 : target.publicationOrder
        }

        var isRef: Bool { order >= 4 }
    }

    /// In the order in which they are carried out.
    let steps: [Step]

    init(_ steps: [Step]) {
        self.steps = steps.enumerated().sorted { ($0.element.order, $0.offset) < ($1.element.order, $1.offset) }
            .map(\.element)
    }

    // MARK: The file

    static let name = "journal".bytes
    /// A million files fit.
    static let limit = 256 << 20

    var bytes: [UInt8] {
        let items = steps.map { step in
            JSONValue.record([
                "to": .string(step.target.text),
                "from": .optional(step.temporary.map { String(decoding: $0, as: UTF8.self) }),
            ])
        }
        return JSONWriter.bytes(.record(["v": .integer(1), "steps": .array(items)]), .compact)
    }

    /// Reads a journal; nil when it is not understood as a whole, for a part of a batch must not be carried out.
    init?(_ bytes: [UInt8]) {
        guard let value = try? JSONReader.parse(bytes.span), value["v"] == .integer(1),
            let items = value["steps"]?.items
        else { return nil }
        var steps: [Step] = []
        for item in items {
            guard let path = item["to"]?.text, let target = StorePath(path), let from = item["from"] else {
                return nil
            }
            if from.isNull {
                steps.append(Step(target: target, temporary: nil))
            } else {
                guard let name = from.text?.bytes, Self.isScratchName(name) else { return nil }
                steps.append(Step(target: target, temporary: name))
            }
        }
        self.init(steps)
    }

    /// A name as the scratch folder gives them: nothing that leads elsewhere.
    private static func isScratchName(_ name: [UInt8]) -> Bool {
        (3...100).contains(name.count)
            && name.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (0x30...0x39).contains(byte)
                    || byte == UInt8(ascii: "-")
            }
    }
}
