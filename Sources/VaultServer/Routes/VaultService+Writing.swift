internal import VaultCore
internal import VaultFormat
internal import VaultSystem

extension VaultService {
    // MARK: R2

    func planWrite(_ request: Request, _ store: ServedStore, _ vault: VaultID, _ path: StorePath) throws {
        let hash = try access.checkWriter(AccessControl.credentials(request))
        if request.bodyLength == 0 { throw Refusal(400, "Empty payload") }
        let served = store.vault(vault)
        try AccessControl.check(hash, try served.owner())
        if let length = request.bodyLength {
            guard length <= limits.fileBytes else { throw Refusal.tooLarge }
            try store.checkRoom(for: length)
        }
        let body = try FileBody(vault, of: store, limit: limits.fileBytes, budget: budget)
        request.task.sink = body
        request.task.finish = {
            .work(lane: vault) {
                guard body.size > 0 else { throw Refusal(400, "Empty payload") }
                // Outside the lock: the bytes of a large file take their time to reach the disk.
                try body.sync()
                try served.write(ownerHash: hash) { writer in
                    try writer.publish([path: try body.stage(writer)])
                }
                return .reply(
                    .json(
                        .record([
                            "file_id": .string(path.text), "vault_id": .string(vault.text),
                            "status": .string("completed"),
                        ])))
            }
        }
    }

    // MARK: R3

    func planDelete(_ request: Request, _ store: ServedStore, _ vault: VaultID, _ path: StorePath) throws {
        let hash = try access.checkWriter(AccessControl.credentials(request))
        request.task.finish = {
            .work(lane: vault) {
                let refusal = Refusal(403, "Write key mismatch or file not found")
                let served = store.vault(vault)
                do { try AccessControl.check(hash, try served.owner()) } catch { throw refusal }
                guard try store.open(vault, path) != nil else { throw refusal }
                try served.write(ownerHash: hash) { writer in
                    guard try writer.open(path) != nil else { throw refusal }
                    try writer.publish([path: nil])
                }
                return .reply(
                    .json(
                        .record([
                            "file_id": .string(path.text), "vault_id": .string(vault.text),
                            "status": .string("deleted"),
                        ])))
            }
        }
    }

    // MARK: R6

    func planDestroy(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        let hash = try access.checkWriter(AccessControl.credentials(request))
        let body = try MemoryBody(limit: 64 << 10, budget: budget)
        request.task.sink = body
        let uploads = uploads
        request.task.finish = {
            .work(lane: vault) {
                let malformed = Refusal(400, "Request body must be JSON with vault_id field")
                let document = try body.document(else: malformed)
                guard case .object = document else { throw malformed }
                guard document["vault_id"]?.text == vault.text else {
                    throw Refusal(409, "vault_id in body does not match vault_id in URL")
                }
                let served = store.vault(vault)
                try AccessControl.check(hash, try served.owner())
                uploads.removeAll(of: vault)
                let count = try served.destroy(ownerHash: hash)
                return .reply(
                    .json(
                        .record([
                            "status": .string("deleted"), "vault_id": .string(vault.text),
                            "files_deleted": .integer(Int64(count)),
                        ])))
            }
        }
    }

    // MARK: R13

    func planZip(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        let hash = try access.checkWriter(AccessControl.credentials(request))
        request.task.finish = {
            .work(lane: nil) {
                let served = store.vault(vault)
                let owner = try served.owner()
                try AccessControl.check(hash, owner)
                guard owner != .nobody else { throw Refusal(404, "Vault not found") }
                let snapshot = try served.snapshot()
                defer { snapshot.remove() }
                try store.checkRoom(for: snapshot.bytes)
                let (file, size) = try ZipArchive.write(snapshot)
                guard let descriptor = SentDescriptor(file) else { throw Errno.notSupported }
                return .reply(
                    Reply(
                        status: 200, contentType: "application/zip",
                        body: .file(descriptor, offset: 0, count: size), headers: [Reply.noStore]))
            }
        }
    }
}
