import VaultTestSupport

/// One step of a model run, as data, so that a run can be repeated with steps left out.
struct Step: Sendable, CustomStringConvertible {
    enum Action: Sendable {
        case put(path: String, content: String)
        case remove(path: String)
        case commit
        case commitPath(String)
        case write(path: String, content: String)
        case push, pull, fetch, status, fsck, reopen
        /// A fresh clone of the remote, compared and thrown away.
        case clone
    }

    /// `a` or `b`.
    var clone: String
    var action: Action

    var description: String { "\(clone).\(action)" }

    /// Few paths and contents, so that clones meet: a file where the other has a folder, equal content on both sides.
    private static let paths = ["x", "y", "d", "d/x", "d/y", "d/e/z", "e/x", "e"]
    private static let contents = ["", "one", "two", "three", "four"]

    static func random(_ random: SeededRandom) -> Step {
        func path() -> String { paths[random.below(paths.count)] }
        func content() -> String { contents[random.below(contents.count)] }
        let action: Action
        switch random.below(30) {
        case 0..<7: action = .put(path: path(), content: content())
        case 7..<10: action = .remove(path: path())
        case 10..<15: action = .commit
        case 15: action = .commitPath(path())
        case 16..<19: action = .write(path: path(), content: content())
        case 19..<23: action = .push
        case 23..<27: action = .pull
        case 27: action = random.below(2) == 0 ? .fetch : .reopen
        case 28: action = .status
        default: action = random.below(2) == 0 ? .fsck : .clone
        }
        return Step(clone: random.below(2) == 0 ? "a" : "b", action: action)
    }
}
