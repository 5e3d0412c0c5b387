/// A JSON document as it was written: members keep their order, numbers that are not 64-bit integers keep their text.
///
/// Strings compare by their bytes, not by Unicode equivalence, so that two spellings of one name stay two names.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Any other number, verbatim.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([JSONMember])

    /// The value of a member; nil when this is no object or has no such member.
    ///
    /// The last of several wins.
    package subscript(_ name: StaticString) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.isNamed(name) }?.value
    }

    /// The value of a member whose name is only known at run time.
    package subscript(name name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// The text of a string.
    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of an integer.
    package var int: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The value of a boolean.
    package var boolean: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The items of an array.
    package var items: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    /// The members of an object.
    package var members: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Whether this is `null`.
    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// An object with members in the order given.
    package static func record(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { JSONMember(name: $0.key, value: $0.value) })
    }

    /// A string, or `null`.
    package static func optional(_ text: String?) -> JSONValue {
        text.map { .string($0) } ?? .null
    }
}

/// One member of a JSON object.
package struct JSONMember: Sendable {
    package var name: String
    package var value: JSONValue

    package init(name: String, value: JSONValue) {
        self.name = name
        self.value = value
    }

    package func isNamed(_ other: StaticString) -> Bool {
        name.utf8.elementsEqual(other.description.utf8)
    }
}

extension JSONMember: Equatable {
    package static func == (lhs: JSONMember, rhs: JSONMember) -> Bool {
        lhs.name.utf8.elementsEqual(rhs.name.utf8) && lhs.value == rhs.value
    }
}

extension JSONValue: Equatable {
    package static func == (lhs: JSONValue, rhs: JSONValue) -> Bool {
        switch (lhs, rhs) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left.utf8.elementsEqual(right.utf8)
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}
