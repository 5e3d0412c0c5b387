import Glibc
import Testing
import VaultSystem
import VaultTestSupport

@Suite("Every file system keeps the same rules")
struct FileSystemTests {
    @Test("Linux", arguments: FileSystemConformance.all)
    func linux(conformance: FileSystemConformance) throws {
        let folder = try TemporaryFolder("conformance")
        let subject = FileSystemConformance.Subject(fileSystem: LinuxFileSystem(), root: folder.path) { path, target in
            let result = unsafe symlink(
                String(decoding: target.bytes, as: UTF8.self), String(decoding: path.bytes, as: UTF8.self))
            try #require(result == 0)
        }
        try conformance.check(subject)
    }

    @Test("in memory", arguments: FileSystemConformance.all)
    func inMemory(conformance: FileSystemConformance) throws {
        let fileSystem = InMemoryFileSystem()
        try fileSystem.createDirectory("/work", mode: 0o755)
        let subject = FileSystemConformance.Subject(fileSystem: fileSystem, root: "/work") { path, target in
            try fileSystem.createLink(path, to: target)
        }
        try conformance.check(subject)
    }

    @Test("a fault file system without a fault", arguments: FileSystemConformance.all)
    func faultless(conformance: FileSystemConformance) throws {
        let memory = InMemoryFileSystem()
        try memory.createDirectory("/work", mode: 0o755)
        let subject = FileSystemConformance.Subject(fileSystem: FaultFileSystem(memory), root: "/work") {
            path, target in
            try memory.createLink(path, to: target)
        }
        try conformance.check(subject)
    }
}
