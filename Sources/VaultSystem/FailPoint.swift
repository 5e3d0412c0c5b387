/// Every place where a run can be made to stop, in one list.
///
/// Crash tests stop at each of them.
package enum FailPoint: String, CaseIterable, Sendable {
    // Folder remote, in the order of one batch (05-sync §17).
    case folderStaged = "folder.staged"
    case folderStagedDurable = "folder.staged-durable"
    case folderJournalStaged = "folder.journal-staged"
    case folderJournalWritten = "folder.journal-written"
    case folderRenamedOne = "folder.renamed-one"
    case folderObjectsDurable = "folder.objects-durable"
    case folderRefsRenamed = "folder.refs-renamed"
    case folderRefsDurable = "folder.refs-durable"
    case folderJournalRemoved = "folder.journal-removed"
}
