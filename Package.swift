// swift-tools-version: 6.2
import PackageDescription

let environment = Context.environment

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    // Named points at which crash tests end the process; release builds have none.
    .define("VAULT_FAILPOINTS", .when(configuration: .debug)),
]

let libraries: [Target] = [
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CSystemShim"),
    .target(name: "VaultCrypto", dependencies: ["COpenSSL", "CSodium"]),
    .target(name: "VaultSystem", dependencies: ["CSystemShim"]),
    .target(name: "VaultFormat", dependencies: ["VaultCrypto", "CZlib"]),
    .target(name: "VaultCore", dependencies: ["VaultFormat", "VaultCrypto", "VaultSystem"]),
    .target(name: "PKICore", dependencies: ["VaultFormat", "VaultCrypto", "VaultSystem"]),
    .target(name: "CMicrohttpdShim"),
    .target(
        name: "VaultServer",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "CMicrohttpdShim"]),
    .target(name: "CCurlShim"),
    .target(
        name: "VaultHTTP", dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "CCurlShim"]),
    .target(
        name: "VaultCLI",
        dependencies: ["VaultHTTP", "VaultServer", "VaultCore", "PKICore", "VaultFormat", "VaultCrypto", "VaultSystem"]),
    .executableTarget(name: "vaultctl", dependencies: ["VaultCLI"]),
]

let tests: [Target] = [
    .target(
        name: "VaultTestSupport",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem"],
        path: "Tests/Support"),
    .testTarget(name: "VaultCryptoTests", dependencies: ["VaultCrypto", "VaultTestSupport"]),
    .testTarget(name: "VaultSystemTests", dependencies: ["VaultSystem", "VaultTestSupport"]),
    .testTarget(name: "VaultFormatTests", dependencies: ["VaultFormat", "VaultCrypto", "VaultTestSupport"]),
    .testTarget(
        name: "PKICoreTests",
        dependencies: ["PKICore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "VaultCoreTests",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "VaultCLITests",
        dependencies: ["VaultCLI", "VaultCore", "VaultFormat", "VaultSystem", "VaultTestSupport"],
        exclude: ["Scripts"]),
    .testTarget(
        name: "VaultServerTests",
        dependencies: ["VaultServer", "VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "VaultHTTPTests",
        dependencies: ["VaultHTTP", "VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "CrashTests",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "RaceTests",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "ModelTests",
        dependencies: ["VaultCore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport"]),
    .testTarget(
        name: "FuzzTests",
        dependencies: [
            "VaultCLI", "VaultCore", "PKICore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport",
        ],
        exclude: ["Corpus", "Fuzzer"]),
]

/// The fuzzer, which `make fuzz` builds with sanitizers and without any test: `VAULT_FUZZ=1`.
let fuzzing: [Target] = [
    .executableTarget(
        name: "vaultfuzz",
        dependencies: [
            "VaultCLI", "VaultCore", "PKICore", "VaultFormat", "VaultCrypto", "VaultSystem", "VaultTestSupport",
        ],
        path: "Tests/FuzzTests", exclude: ["Corpus", "FuzzTests.swift"], sources: ["Parsers", "Fuzzer"],
        // libFuzzer brings the main function.
        swiftSettings: [.unsafeFlags(["-parse-as-library"])])
]

/// A comma-separated list of test targets; the others are then not declared.
let only = environment["VAULT_ONLY"].map { Set($0.split(separator: ",").map(String.init)) }
let fuzzes = environment["VAULT_FUZZ"] != nil
let declaredTests =
    tests.filter { $0.type != .test || !fuzzes && (only == nil || only?.contains($0.name) == true) }
    + (fuzzes ? fuzzing : [])

for target in libraries + declaredTests where target.type != .system && !target.name.hasSuffix("Shim") {
    target.swiftSettings = settings + (target.swiftSettings ?? [])
}

let package = Package(
    name: "vaultctl",
    products: [
        .library(name: "VaultCore", targets: ["VaultCore"]),
        .library(name: "PKICore", targets: ["PKICore"]),
        .executable(name: "vaultctl", targets: ["vaultctl"]),
    ],
    targets: libraries + declaredTests,
    swiftLanguageModes: [.v6]
)
