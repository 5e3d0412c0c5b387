extension VerbTable {
    /// Every verb of this build, in the order of the overview.
    static let standard = VerbTable(
        globals: GlobalOptions.all,
        verbs: [
            InitCommand.verb, CloneCommand.verb,
            StatusCommand.verb, CommitCommand.verb, DiffCommand.verb, LogCommand.verb, ShowCommand.verb,
            ListCommand.verb, CatCommand.verb, WriteCommand.verb, RemoveCommand.verb, MoveCommand.verb,
            CheckIgnoreCommand.verb, IgnoreCommand.verb, RestoreCommand.verb, ResetCommand.verb, UndoCommand.verb,
            ReflogCommand.verb,
            RevertCommand.verb,
            BranchCommand.verb, SwitchCommand.verb, MergeCommand.verb, ResolveCommand.verb, TagCommand.verb,
            PushCommand.verb, PullCommand.verb, FetchCommand.verb,
        ] + SparseCommand.verbs + StashCommand.verbs + RemoteCommand.verbs + ServeCommand.verbs + [
            InfoCommand.verb, DoctorCommand.verb, FsckCommand.verb, VerifyCommitCommand.verb, GarbageCommand.verb,
            BackupCommand.verb, RestoreBackupCommand.verb, RekeyCommand.verb, AttachCommand.verb, DetachCommand.verb,
            DestroyCommand.verb,
        ]
            + KeysCommand.verbs + PkiCommand.verbs
            + ConfigCommand.verbs + [HelpCommand.verb, CompletionCommand.verb, VersionCommand.verb])
}
