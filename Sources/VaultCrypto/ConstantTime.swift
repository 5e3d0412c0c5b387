import CSodium

/// Comparison whose time does not tell where the first difference lies.
package enum ConstantTime {
    /// True if both have the same length and the same bytes; the time depends on the lengths only.
    package static func equal(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        guard a.count > 0 else { return true }
        // unsafe: both pointers are valid for the common length inside the closures.
        return unsafe a.withUnsafeBytes { left in
            unsafe b.withUnsafeBytes { right in
                unsafe sodium_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}
