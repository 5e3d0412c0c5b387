internal import VaultFormat

/// Draws the lines between commits in characters, commit by commit, children before their parents.
///
/// Each line that leads on to a commit not reached yet has a column of two characters. After a commit its column leads
/// to the first parent, those to the right of it to the others; columns that lead to the same commit then run together
/// into the leftmost one.
struct GraphDrawing {
    /// The commits that the columns lead to, each once.
    private var columns: [ObjectID] = []
    /// Rows of commits that are not shown.
    private var rows: [String] = []
    /// The column of the commit before, when no line leads on from it.
    private var ended: Int?

    /// Draws a commit.
    ///
    /// * `parents`: Those that will come, each once.
    /// * `isShown`: Otherwise lines run through it.
    /// - Returns: The drawing; nil for a commit that is not shown.
    mutating func add(_ id: ObjectID, parents: [ObjectID], isShown: Bool) -> LogGraph? {
        let position: Int
        if let known = columns.firstIndex(of: id) {
            position = known
        } else {
            position = columns.count
            // What begins where something ended would look like its parent.
            if ended == position { rows.append(Row(columns: position).text) }
            columns.append(id)
        }
        ended = parents.isEmpty ? position : nil
        let before = columns.count
        var graph = LogGraph()
        // A commit with many parents needs the room first, which those to its right give.
        let room = max(0, parents.count - 2)
        if room > 0 {
            for step in 0..<room where position + 1 < before {
                graph.before.append(
                    row(position, "|") { .init(at: 2 * ($0 + step) + 1, "\\") })
            }
        }
        var own = Row()
        for column in 0..<before {
            own.put("|", at: 2 * (column > position ? column + room : column))
        }
        own.put(isShown ? "*" : "|", at: 2 * position)
        if room > 0 {
            for character in 2 * position + 1..<2 * (position + room) { own.put("-", at: character) }
            own.put(".", at: 2 * (position + room))
        }
        graph.commit = own.text
        graph.after = spread(parents, at: position, room: room)
        let widest = max(before + room, columns.count)
        graph.after += collapse()
        graph.width = 2 * widest
        graph.padding = Row(columns: columns.count).text
        guard isShown else {
            // Without a mark only what moves is worth a row.
            rows += graph.before + (room > 0 ? [graph.commit] : []) + graph.after
            return nil
        }
        graph.before = rows + graph.before
        rows = []
        return graph
    }

    /// Leads the column of a commit on to its parents.
    private mutating func spread(_ parents: [ObjectID], at position: Int, room: Int) -> [String] {
        guard let first = parents.first else {
            columns.remove(at: position)
            guard position < columns.count else { return [] }
            var row = Row(columns: position)
            for column in position..<columns.count { row.put("/", at: 2 * column + 1) }
            return [row.text]
        }
        guard parents.count > 1 else {
            columns[position] = first
            return []
        }
        if parents.count == 2, position + 1 < columns.count, columns[position + 1] == parents[1] {
            var row = Row(columns: columns.count)
            row.put("\\", at: 2 * position + 1)
            columns[position] = first
            return [row.text]
        }
        if parents.count == 2, position > 0, columns[position - 1] == first {
            var row = Row(columns: columns.count)
            row.put("/", at: 2 * position - 1)
            columns[position] = parents[1]
            return [row.text]
        }
        var row = row(position, "|") { .init(at: 2 * ($0 + room) + 1, "\\") }
        var drawn = Row(text: row)
        for index in 0...room { drawn.put("\\", at: 2 * (position + index) + 1) }
        row = drawn.text
        columns.replaceSubrange(position...position, with: parents)
        return [row]
    }

    private struct Mark {
        let place: Int
        let character: Character

        init(at place: Int, _ character: Character) {
            self.place = place
            self.character = character
        }
    }

    /// A row with straight lines up to a column and something else behind it.
    private func row(_ position: Int, _ own: Character, _ right: (Int) -> Mark) -> String {
        var row = Row(columns: position)
        row.put(own, at: 2 * position)
        for column in position + 1..<max(position + 1, columns.count) {
            let mark = right(column)
            row.put(mark.character, at: mark.place)
        }
        return row.text
    }

    /// Lets columns that lead to the same commit run together, one column to the left with each row.
    private mutating func collapse() -> [String] {
        var unique: [ObjectID] = []
        var places: [ObjectID: Int] = [:]
        let targets = columns.map { id -> Int in
            if let known = places[id] { return known }
            places[id] = unique.count
            unique.append(id)
            return unique.count - 1
        }
        columns = unique
        let moving = targets.indices.filter { targets[$0] != $0 }
        guard let longest = moving.map({ $0 - targets[$0] }).max() else { return [] }
        if moving.count == 1, longest > 2 { return [far(moving[0], targets), near(moving[0], targets)] }
        return (1...longest).map { step in
            var row = Row()
            for (column, target) in targets.enumerated() where step > column - target { row.put("|", at: 2 * target) }
            for (column, target) in targets.enumerated() where step <= column - target {
                row.put("/", at: 2 * (column - step) + 1)
            }
            return row.text
        }
    }

    /// The beginning of a long way, which passes under the lines that it crosses.
    private func far(_ column: Int, _ targets: [Int]) -> String {
        var row = Row(columns: column)
        for place in stride(from: 2 * targets[column] + 3, to: 2 * column - 1, by: 2) { row.put("_", at: place) }
        row.put("/", at: 2 * column - 1)
        for other in column + 1..<max(column + 1, targets.count) { row.put("|", at: 2 * other) }
        return row.text
    }

    /// Its end.
    private func near(_ column: Int, _ targets: [Int]) -> String {
        var row = Row(columns: column)
        row.put("/", at: 2 * targets[column] + 1)
        for other in column + 1..<max(column + 1, targets.count) { row.put("|", at: 2 * other) }
        return row.text
    }

    /// One row of characters, blanks where nothing was put.
    private struct Row {
        private var characters: [Character] = []

        init(columns: Int = 0) {
            for column in 0..<columns { put("|", at: 2 * column) }
        }

        init(text: String) { characters = Array(text) }

        mutating func put(_ character: Character, at place: Int) {
            while characters.count <= place { characters.append(" ") }
            characters[place] = character
        }

        var text: String { String(characters) }
    }
}
