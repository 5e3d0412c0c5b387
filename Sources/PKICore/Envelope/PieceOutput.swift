internal import VaultSystem

/// Writes the pieces of a result to a file on a second thread, while the next ones are made.
final class PieceOutput: Sendable {
    private let pieces = Channel<[UInt8]>(capacity: 2)

    /// Runs `body`, whose pieces are in the file when this returns.
    ///
    /// * `name`: Names the file in messages.
    static func run<Result>(
        to file: any File, name: String, _ body: (PieceOutput) throws(PKIError) -> Result
    ) throws(PKIError) -> Result {
        let output = PieceOutput()
        do {
            let write: @Sendable () throws -> Void = { try output.write(to: file) }
            return try WorkerPool.concurrently(write) { try output.produce(body) }.1
        } catch let error as PKIError {
            throw error
        } catch let error as Errno {
            throw PKIError.io(error, "cannot write \(name)")
        } catch {
            throw PKIError(.internalError, "writing \(name) failed", cause: error)
        }
    }

    /// Takes the next piece, as soon as there is room.
    func take(_ piece: [UInt8]) throws(PKIError) {
        // Why it ended is told by the thread that writes.
        guard pieces.send(piece) else { throw PKIError(.ioError, "writing has ended") }
    }

    private func write(to file: any File) throws {
        while let piece = pieces.receive() {
            do throws(Errno) {
                try file.write(piece.span)
            } catch {
                pieces.cancel()
                throw error
            }
        }
    }

    private func produce<Result>(_ body: (PieceOutput) throws(PKIError) -> Result) throws -> Result {
        do throws(PKIError) {
            let result = try body(self)
            pieces.finish()
            return result
        } catch {
            pieces.cancel()
            throw error
        }
    }
}
