internal import VaultFormat
internal import VaultSystem

extension VaultError {
    /// The error of a file or folder of the working copy that can not be read, with the ways out.
    static func unreadable(_ errno: Errno, _ path: [UInt8], isTracked: Bool) -> VaultError {
        let name = PathQuoting.text(path)
        let known = VaultError.io(errno, "\(name) can not be read, so it can not be told what a commit would hold")
        let readable = "make it readable (chmod u+r)"
        let hint = isTracked ? readable : readable + ", or list it in .gitignore"
        return VaultError(
            known.code, known.message,
            hint: errno == .noSuchFile ? "run the command again when it is quiet" : hint, path: name, cause: errno)
    }
}

extension Vault {
    /// Whether what kept a file of the working copy from being read is that it, or a folder above it, is gone since it
    /// was seen.
    func isGone(_ path: VaultPath, after error: VaultError) -> Bool {
        guard error.cause == "\(Errno.noSuchFile)", error.path == path.description else { return false }
        // Asked again: what is taken for gone is recorded as deleted.
        do throws(VaultError) { return try kind(path) == nil } catch { return false }
    }

    /// The error of a file of the working copy that a look could not read, with the reason that the system gives when it
    /// is asked again.
    func unreadable(_ path: [UInt8], isTracked: Bool) -> VaultError {
        var reason = Errno.permissionDenied
        do throws(Errno) {
            let place = VaultPath(unchecked: path)
            let folder = try layout.root.openDirectory(beneath: place.parent?.bytes ?? [])
            if try folder.status(of: place.lastSegment).kind == .directory {
                _ = try folder.openDirectory(place.lastSegment).entries()
            } else {
                _ = try folder.openFile(place.lastSegment).read(upTo: 1)
            }
            reason = .wouldBlock
        } catch {
            reason = error
        }
        return .unreadable(reason, path, isTracked: isTracked)
    }
}
