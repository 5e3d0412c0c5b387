/// Every place where a run can be made to stop, in one list.
///
/// Crash tests stop at each of them.
package enum FailPoint: String, CaseIterable, Sendable {
    // Clone: one ref, and the head after a commit.
    case refBeforeRename = "ref.before-rename"
    case refAfterRename = "ref.after-rename"
    case commitBeforeRef = "commit.before-ref"

    // Clone: moving the working copy to another commit.
    case checkoutBeforeFirst = "checkout.before-first"
    case checkoutBeforeFile = "checkout.before-file"
    case checkoutBeforeHead = "checkout.before-head"

    // Clone: after a push took effect at the remote.
    case pushBeforeLocal = "push.before-local"

    // Clone: removing what nothing refers to.
    case gcBeforeRemoval = "gc.before-removal"
    case gcRemovedOne = "gc.removed-one"

    // Folder remote, in the order of one batch (05-sync §17).
    case folderStaged = "folder.staged"
    case folderStagedDurable = "folder.staged-durable"
    case folderJournalWritten = "folder.journal-written"
    case folderRenamedOne = "folder.renamed-one"
    case folderBeforeRefs = "folder.before-refs"
    case folderRefsRenamed = "folder.refs-renamed"
    case folderDurable = "folder.durable"
    case folderJournalRemoved = "folder.journal-removed"
}
