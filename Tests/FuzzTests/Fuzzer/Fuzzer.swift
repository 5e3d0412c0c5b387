import VaultSystem

#if canImport(Glibc)
    import Glibc
#endif

/// The reader that `VAULT_FUZZ_TARGET` names.
private let target: FuzzTarget = {
    let name = ProcessContext.environmentText("VAULT_FUZZ_TARGET") ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        fatalError("VAULT_FUZZ_TARGET has to be one of \(FuzzTarget.allCases.map(\.rawValue))")
    }
    return target
}()

/// What libFuzzer calls with every input; a trap is a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // unsafe: libFuzzer hands over `count` bytes that live as long as the call.
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    do {
        try target.run(bytes)
    } catch {
        fatalError("\(target.rawValue): \(error)")
    }
    return 0
}
