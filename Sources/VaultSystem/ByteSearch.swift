internal import Glibc

extension Span<UInt8> {
    /// The first place of a byte in a range of the span; nil when it does not occur there.
    package func firstPlace(of byte: UInt8, in range: Range<Int>) -> Int? {
        // unsafe: the memory is lent for one call, and the place that is found lies in it.
        unsafe extracting(range).withUnsafeBytes { buffer -> Int? in
            guard let start = buffer.baseAddress, let found = unsafe memchr(start, Int32(byte), buffer.count) else {
                return nil
            }
            return unsafe range.lowerBound + (UnsafeRawPointer(found) - start)
        }
    }
}
