import Glibc

/// Changes the environment of an exit test's own process.
enum TestEnvironment {
    static func set(_ name: String, _ value: String) {
        _ = unsafe setenv(name, value, 1)
    }
}
