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
    /// Is told what a person should know while something is waited for.
    package let notice: @Sendable (String) -> Void

    package init(
        fileSystem: any FileSystem, clock: any Clock, random: any RandomSource, failPoints: FailPoints,
        pool: WorkerPool = WorkerPool(), notice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.fileSystem = fileSystem
        self.clock = clock
        self.random = random
        self.failPoints = failPoints
        self.pool = pool
        self.notice = notice
    }

    /// The same environment with its notices going somewhere.
    package func telling(_ notice: @escaping @Sendable (String) -> Void) -> VaultEnvironment {
        VaultEnvironment(
            fileSystem: fileSystem, clock: clock, random: random, failPoints: failPoints, pool: pool, notice: notice)
    }

    /// The real machine.
    package static func production() -> VaultEnvironment {
        VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SecureRandom(), failPoints: FailPoints())
    }
}
