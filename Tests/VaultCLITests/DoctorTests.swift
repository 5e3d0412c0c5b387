import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Doctor")
struct DoctorTests {
    @Test(
        "tells what the file system of a clone lacks",
        arguments: [
            (nil, "pass"), (FileSystemCall.syncDirectory, "warn"), (FileSystemCall.createUnnamedFile, "warn"),
        ])
    func fileSystem(lacks: FileSystemCall?, status: String) async throws {
        let tool = try Tool()
        let server = tool.directory.appending(component: "remote").text
        #expect(await tool.run("init", "-q", "a", "--server", server).code == 0)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        let faults = FaultFileSystem(LinuxFileSystem())
        if let lacks {
            faults.set(FaultFileSystem.Fault(atCall: 1, error: .notSupported, isSticky: true, kinds: [lacks]))
        }
        tool.fileSystem = faults
        let outcome = await tool.run("-C", "a", "doctor", "--json")
        #expect(outcome.code == 0, "\(outcome.error)")
        let bytes = outcome.output
        let document = try JSONReader.parse(bytes.span)
        let check = document["checks"]?.items?.first { $0["name"]?.text == "file_system" }
        #expect(check?["status"]?.text == status)
    }
}
