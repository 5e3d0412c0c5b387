internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// What a verb reads: a file that was named, or standard input for `-`.
struct InputFile {
    let call: Call
    let typed: [UInt8]

    static let standardInput = [UInt8(ascii: "-")]

    var isStandardInput: Bool { typed == Self.standardInput }

    /// For messages.
    var name: String { isStandardInput ? "standard input" : TextSafety.quoted(typed) }

    private func path() throws -> FilePath { try call.place(typed) }

    /// All of its bytes.
    ///
    /// * `limit`: The most there may be; `purpose` tells what sets it.
    /// - Throws: `refused` beyond the limit.
    func bytes(limit: Int, _ purpose: String) throws -> [UInt8] {
        let fileSystem = call.surroundings.vault.fileSystem
        do throws(Errno) {
            guard !isStandardInput else {
                return try call.surroundings.standardInput.read(descriptor: 0, limit: limit)
            }
        } catch {
            throw failure(error, limit, purpose)
        }
        let path = try path()
        do throws(Errno) {
            return try fileSystem.readFile(path, limit: limit)
        } catch {
            throw failure(error, limit, purpose)
        }
    }

    /// The file, opened, and how long it is; nil for what is no regular file.
    /// - Throws: `refused` beyond the limit.
    func regularFile(limit: Int, _ purpose: String) throws -> (file: any File, count: Int)? {
        guard !isStandardInput else { return nil }
        let path = try path()
        do throws(Errno) {
            let file = try LinuxFileSystem().openFile(path)
            let status = try file.status()
            guard status.kind == .regular else { return nil }
            guard status.size <= limit else { throw .fileTooLarge }
            return (file, Int(status.size))
        } catch {
            throw failure(error, limit, purpose)
        }
    }

    /// What is read a piece at a time, however long it is.
    enum Content {
        case file(any File)
        case bytes([UInt8])
    }

    /// The content, opened and not yet read.
    func content() throws -> Content {
        let path = try isStandardInput ? nil : path()
        do throws(Errno) {
            if let path { return .file(try LinuxFileSystem().openFile(path)) }
            let input = call.surroundings.standardInput
            if let descriptor = input.streamDescriptor { return .file(try LinuxFile(duplicating: descriptor)) }
            return .bytes(try input.read(descriptor: 0, limit: .max - 1))
        } catch {
            throw failure(error, .max, "")
        }
    }

    func failure(_ error: Errno, _ limit: Int, _ purpose: String) -> VaultError {
        guard error != .fileTooLarge else {
            return VaultError(
                .refused, "\(name) is larger than \(TextRenderer.size(Int64(limit))), the most that \(purpose)")
        }
        return VaultError.io(error, "cannot read \(name)", path: isStandardInput ? nil : FilePath(bytes: typed).text)
    }
}
