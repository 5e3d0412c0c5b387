internal import VaultFormat
internal import VaultSystem

extension VaultError {
    /// The error of a file or folder of the working copy that can not be read, with the ways out.
    static func unreadable(_ errno: Errno, _ path: [UInt8], isTracked: Bool) -> VaultError {
        let name = PathQuoting.text(path)
        let known = VaultError.io(errno, "\(name) can not be read, so it can not be told what a commit would hold")
        let readable = "make it readable (chmod u+r)"
        return VaultError(
            known.code, known.message, hint: isTracked ? readable : readable + ", or list it in .gitignore",
            path: name, cause: errno)
    }
}
