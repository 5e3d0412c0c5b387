package import VaultCrypto
package import VaultSystem

/// What VaultCore needs from outside: files, time, randomness, and the named points at which tests interrupt it.
package struct VaultEnvironment: Sendable {
    package let fileSystem: any FileSystem
    package let clock: any Clock
    package let random: any RandomSource
    package let failPoints: FailPoints
    /// Runs work on independent files, and knows when to stop.
    package let pool: WorkerPool

    package init(
        fileSystem: any FileSystem, clock: any Clock, random: any RandomSource, failPoints: FailPoints,
        pool: WorkerPool = WorkerPool()
    ) {
        self.fileSystem = fileSystem
        self.clock = clock
        self.random = random
        self.failPoints = failPoints
        self.pool = pool
    }

    /// The real machine.
    package static func production() -> VaultEnvironment {
        VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SecureRandom(), failPoints: FailPoints())
    }
}
