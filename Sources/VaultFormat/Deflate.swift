import CZlib

// The one file of this module with unsafe code: zlib works on raw memory and keeps the address of its stream record.

/// Compresses a stream with zlib (RFC 1950 header, level 6 like the reference).
package struct Deflater: ~Copyable {
    private let stream: ZlibStream

    package init(level: Int32 = 6) throws(FormatError) {
        stream = try ZlibStream(.deflate(level: level))
    }

    /// Takes more input; appends what is ready to `output`.
    package mutating func update(_ input: Span<UInt8>, into output: inout [UInt8]) throws(FormatError) {
        _ = try stream.run(input, finish: false, into: &output, limit: .max)
    }

    /// Ends the stream; appends the rest to `output`.
    package mutating func finish(into output: inout [UInt8]) throws(FormatError) {
        let empty: [UInt8] = []
        guard try stream.run(empty.span, finish: true, into: &output, limit: .max) else {
            throw FormatError(code: .crypto, detail: "zlib did not end the stream")
        }
    }

    /// Compresses `input` in one go.
    package static func deflate(_ input: Span<UInt8>, level: Int32 = 6) throws(FormatError) -> [UInt8] {
        var deflater = try Deflater(level: level)
        var output: [UInt8] = []
        try deflater.update(input, into: &output)
        try deflater.finish(into: &output)
        return output
    }
}

/// Expands a zlib stream, or a bare deflate stream, to at most a given size.
///
/// Bytes after the end of the stream are ignored, as the reference does.
package struct Inflater: ~Copyable {
    private let stream: ZlibStream
    private let limit: Int
    /// Bytes produced so far.
    package private(set) var produced = 0
    /// Whether the stream's end was reached.
    package private(set) var isFinished = false

    /// An inflater that refuses to produce more than `limit` bytes.
    ///
    /// `raw` selects deflate without the zlib header, as zip files hold it.
    package init(limit: Int, raw: Bool = false) throws(FormatError) {
        self.limit = max(0, limit)
        stream = try ZlibStream(.inflate(raw: raw))
    }

    /// Takes more input; appends what it expands to to `output`.
    ///
    /// - Throws: `.malformed` when the stream is damaged, `.limitExceeded` when it grows too large.
    package mutating func update(_ input: Span<UInt8>, into output: inout [UInt8]) throws(FormatError) {
        guard !isFinished else { return }
        let before = output.count
        isFinished = try stream.run(input, finish: false, into: &output, limit: limit - produced)
        produced += output.count - before
    }

    /// Checks that the stream has ended.
    ///
    /// - Throws: `.malformed` when it was cut short.
    package mutating func finish() throws(FormatError) {
        guard isFinished else { throw .malformed("the compressed data is cut short") }
    }

    /// Expands `input` in one go.
    package static func inflate(
        _ input: Span<UInt8>, limit: Int, raw: Bool = false
    ) throws(FormatError) -> [UInt8] {
        var inflater = try Inflater(limit: limit, raw: raw)
        var output: [UInt8] = []
        try inflater.update(input, into: &output)
        try inflater.finish()
        return output
    }
}

/// One zlib stream at a fixed address, and the buffer its output passes through.
@safe
private final class ZlibStream {
    enum Mode {
        case deflate(level: Int32)
        case inflate(raw: Bool)
    }

    private let isDeflate: Bool
    // unsafe: owned by this object alone, allocated in init, freed in deinit.
    private let stream: UnsafeMutablePointer<z_stream>
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    private static let bufferSize = 64 << 10

    init(_ mode: Mode) throws(FormatError) {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        unsafe buffer = .allocate(capacity: Self.bufferSize)
        unsafe buffer.initialize(repeating: 0)
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        let status: Int32
        // unsafe: zlib fills the record in place; it stays at this address until deinit.
        switch mode {
        case .deflate(let level):
            isDeflate = true
            status = unsafe deflateInit_(stream, level, zlibVersion(), size)
        case .inflate(let raw):
            isDeflate = false
            status = unsafe inflateInit2_(stream, raw ? -15 : 15, zlibVersion(), size)
        }
        guard status == Z_OK else { throw FormatError(code: .crypto, detail: "zlib cannot start (\(status))") }
    }

    deinit {
        // unsafe: both calls accept a stream whose start failed; nothing uses the memory afterwards.
        if isDeflate { unsafe deflateEnd(stream) } else { unsafe inflateEnd(stream) }
        unsafe stream.deallocate()
        unsafe buffer.deallocate()
    }

    /// Feeds all of `input` and appends the output; whether the end of the stream was reached.
    func run(
        _ input: Span<UInt8>, finish: Bool, into output: inout [UInt8], limit: Int
    ) throws(FormatError) -> Bool {
        // unsafe: the pointer is used inside the closure only, and zlib only reads from it.
        let result = unsafe input.withUnsafeBufferPointer { source -> Result<Bool, FormatError> in
            var offset = 0
            var produced = 0
            while true {
                let count = min(source.count - offset, 1 << 30)
                if let base = source.baseAddress {
                    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: base + offset)
                }
                unsafe stream.pointee.avail_in = UInt32(count)
                repeat {
                    unsafe stream.pointee.next_out = buffer.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(Self.bufferSize)
                    let status =
                        isDeflate
                        ? unsafe CZlib.deflate(stream, finish ? Z_FINISH : Z_NO_FLUSH)
                        : unsafe CZlib.inflate(stream, Z_NO_FLUSH)
                    guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
                        return .failure(.malformed("the compressed data is damaged"))
                    }
                    let made = Self.bufferSize - Int(unsafe stream.pointee.avail_out)
                    produced += made
                    guard produced <= limit else {
                        return .failure(.limit("the compressed data expands to more than is allowed"))
                    }
                    unsafe output.append(contentsOf: buffer[..<made])
                    if status == Z_STREAM_END { return .success(true) }
                } while unsafe stream.pointee.avail_out == 0
                offset += count - Int(unsafe stream.pointee.avail_in)
                if offset >= source.count { return .success(false) }
                if unsafe stream.pointee.avail_in == UInt32(count) {
                    return .failure(.malformed("the compressed data is damaged"))
                }
            }
        }
        return try result.get()
    }
}
