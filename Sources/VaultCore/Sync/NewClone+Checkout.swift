internal import VaultFormat
internal import VaultSystem

extension NewClone {
    /// Gives a new clone its working copy.
    ///
    /// * `selects`: Which files of the tree are written.
    /// - Throws: `noSpace` before anything is written when the files can not fit, or what writing them throws.
    func checkOut(
        _ tree: ObjectID, trees: TreeReader, blobs: BlobReader, in place: ClonePlace,
        _ observer: any Observer, selects: (TrackedFile) throws(VaultError) -> Bool = { _ in true }
    ) throws -> Checkout.Outcome {
        let root = place.root
        let files = try trees.files(tree)
        var wanted: [TrackedFile] = []
        for file in files where try selects(file) { wanted.append(file) }
        let needed = wanted.reduce(Int64(0)) { sum, file in
            let (total, overflows) = sum.addingReportingOverflow(max(0, file.entry.size))
            return overflows ? .max : total
        }
        let free = try attempt("cannot ask for free space") { () throws(Errno) in try root.availableSpace() }
        guard needed <= free.bytes else {
            throw VaultError(
                .noSpace, "the files need \(needed) bytes and \(free.bytes) are free", hint: "clone elsewhere")
        }
        let checkout = Checkout(
            root: root, scratch: scratch, blobs: blobs, creates: { place.created($0) }, pool: environment.pool,
            observer: observer, failPoints: environment.failPoints)
        let outcome = try checkout.write(wanted.map { CheckoutItem(path: $0.path, entry: $0.entry) })
        let cache = StatCache(tree: nil, entries: []).rebased(on: files, tree: tree)
        cache.store(layout: vault.layout, scratch: scratch)
        try vault.recordNotStored(Set(outcome.notStored.map { VaultPath(unchecked: $0.path) }), scratch: scratch)
        return outcome
    }
}
