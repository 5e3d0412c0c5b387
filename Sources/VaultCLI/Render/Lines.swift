internal import VaultCore
internal import VaultFormat

/// Lines of a result, each behind what a graph draws there.
final class Lines {
    private let text: TextRenderer
    /// What has to be printed beside the lines to come, the last for all further ones.
    private var gutter: [String] = []
    private var padding: String?
    private var width = 0
    /// Whether bytes that could drive a terminal are spelled out: on one, and where colours go to something like one.
    let neutralises: Bool

    init(_ text: TextRenderer) throws {
        self.text = text
        neutralises = try text.call.output.isTerminal || text.call.colour().isOn
    }

    /// Begins a commit with its graph; the next line is the one of its mark.
    func begin(_ graph: LogGraph?) throws {
        guard let graph else { return }
        for row in graph.before { try text.line(row) }
        gutter = [graph.commit] + graph.after
        padding = graph.padding
        width = graph.width
    }

    /// Ends a commit: what is left of its graph stands alone.
    func end() throws {
        for row in gutter { try text.line(row) }
        gutter = []
        width = 0
    }

    /// Text that is safe already.
    func line(_ line: String) throws {
        try write(Array(line.utf8))
    }

    /// Bytes of a file or of its name, made safe for a terminal and coloured.
    func line(_ bytes: [UInt8], _ tone: Colour.Tone?) throws {
        let safe = neutralises ? TextSafety.content(bytes) : bytes
        let colour = try text.call.colour()
        guard colour.isOn, tone != nil, !safe.isEmpty else { return try write(safe) }
        try write(Array(colour.apply(tone, String(decoding: safe, as: UTF8.self)).utf8))
    }

    private func write(_ bytes: [UInt8]) throws {
        var all: [UInt8] = []
        if let padding {
            let row = gutter.isEmpty ? padding : gutter.removeFirst()
            all = Array(row.utf8)
            if !bytes.isEmpty {
                all += [UInt8](repeating: UInt8(ascii: " "), count: max(width - row.utf8.count, 1))
            }
        }
        try text.call.output.write(all + bytes + [UInt8(ascii: "\n")])
    }
}
