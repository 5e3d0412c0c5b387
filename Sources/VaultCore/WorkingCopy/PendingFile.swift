internal import VaultFormat
internal import VaultSystem

/// A file being written before it gets its name.
///
/// Without a name where the file system allows it, so that a kill leaves no plaintext behind; where it does not, one that
/// is dropped before it got its name is removed.
struct PendingFile: ~Copyable {
    let file: any File
    private let scratch: ScratchArea
    /// Its name in the scratch area, as long as it has one there.
    private var name: [UInt8]?

    init(in scratch: ScratchArea, replacing existing: FileStatus?) throws(VaultError) {
        // An existing file keeps its mode bits (spec 05 §12); a link or a FIFO in the way does not.
        let mode = existing.flatMap { $0.kind == .regular ? $0.mode & 0o777 : nil }
        let made: (file: any File, name: [UInt8]?)
        do throws(Errno) { made = try Self.create(in: scratch, mode: mode) } catch {
            throw .io(error, "cannot make a temporary file")
        }
        self.scratch = scratch
        file = made.file
        name = made.name
    }

    deinit {
        if let name { try? scratch.directory.removeFile(name) }
    }

    private static func create(
        in scratch: ScratchArea, mode: UInt32?
    ) throws(Errno) -> (file: any File, name: [UInt8]?) {
        do throws(Errno) {
            let file = try scratch.directory.createUnnamedFile(mode: 0o666)
            if let mode { try file.keepMode(mode) }
            return (file, nil)
        } catch {
            guard error == .notSupported else { throw error }
        }
        let fresh: [UInt8]
        do throws(VaultError) { fresh = try scratch.freshName() } catch { throw .ioError }
        let file = try scratch.directory.createFile(fresh, mode: 0o666)
        do throws(Errno) {
            if let mode { try file.keepMode(mode) }
        } catch {
            try? scratch.directory.removeFile(fresh)
            throw error
        }
        return (file, fresh)
    }

    mutating func publish(as target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        do throws(Errno) {
            try move(to: target, in: folder, replacing: replacing)
        } catch {
            guard error == .crossDevice else { throw error }
            try copy(as: target, in: folder, replacing: replacing)
        }
    }

    private mutating func move(to target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        if let name {
            try scratch.directory.rename(name, to: folder, as: target, replacing: replacing)
            self.name = nil
            return
        }
        if !replacing {
            // A file that appeared after the look is somebody's work: `fileExists`, and nothing is replaced.
            try folder.link(file, as: target)
            return
        }
        let fresh: [UInt8]
        do throws(VaultError) { fresh = try scratch.freshName() } catch { throw .ioError }
        try scratch.directory.link(file, as: fresh)
        do throws(Errno) {
            try scratch.directory.rename(fresh, to: folder, as: target, replacing: true)
        } catch {
            try? scratch.directory.removeFile(fresh)
            throw error
        }
    }

    /// Whether a name is that of a file under way outside the scratch area; the scanner passes over it.
    static func isForeign(_ name: ArraySlice<UInt8>) -> Bool {
        let prefix = ".vaultctl-t-".bytes
        guard name.starts(with: prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        let number = rest.dropFirst(24)
        return rest.count > 25 && rest.prefix(24).allSatisfy { isDigit($0) || (0x61...0x66).contains($0) }
            && number.first == UInt8(ascii: "-") && number.dropFirst().allSatisfy(isDigit)
    }

    /// Where a mount lies inside the clone the file is written once more, in the target's folder (spec 03 §13).
    private func copy(as target: [UInt8], in folder: any Directory, replacing: Bool) throws(Errno) {
        let fresh: [UInt8]
        do throws(VaultError) { fresh = try ".vaultctl-".bytes + scratch.freshName() } catch { throw .ioError }
        let copy = try folder.createFile(fresh, mode: 0o666)
        do throws(Errno) {
            let mode = try file.status().mode
            do throws(Errno) { try copy.setMode(mode) } catch { guard error.isWithoutModes else { throw error } }
            try file.seek(to: 0)
            while true {
                let chunk = try file.read(upTo: 1 << 20)
                if chunk.isEmpty { break }
                try copy.write(chunk.span)
            }
            try copy.sync()
            try folder.rename(fresh, to: folder, as: target, replacing: replacing)
            // The flush of the clone's file system does not reach this one.
            try folder.sync()
        } catch {
            try? folder.removeFile(fresh)
            throw error
        }
    }
}
