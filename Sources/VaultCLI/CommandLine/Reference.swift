/// What help, manual and `docs/commands.md` tell beside the verbs.
enum Reference {
    /// The environment variables that are read (spec 10 B.6).
    static let environment: [(name: String, help: String)] = [
        ("VAULTCTL_KEY_FILE", "file with the vault or read key"),
        ("VAULTCTL_KEY_COMMAND", "shell command that prints the key"),
        ("VAULTCTL_KEY", "the key itself, verbatim"),
        ("VAULTCTL_TOKEN_FILE", "file with the access token for a server"),
        ("VAULTCTL_TOKEN", "the access token itself"),
        ("VAULTCTL_PASSPHRASE_FILE", "file with the passphrase of an identity"),
        ("VAULTCTL_PASSPHRASE_COMMAND", "shell command that prints it"),
        ("VAULTCTL_PASSPHRASE, SG_SEND_PASSPHRASE", "the passphrase itself, verbatim"),
        ("SSL_CERT_FILE, SSL_CERT_DIR", "certificates to trust instead of the system's"),
        ("VAULTCTL_SERVER", "server for init and clone; every verb on an existing vault ignores it"),
        ("SGIT_DEFAULT_BASE_URL", "the same, after VAULTCTL_SERVER"),
        ("VAULTCTL_CONFIG", "user configuration file instead of the default"),
        ("VAULTCTL_DIR", "like --vault-dir"),
        ("VAULTCTL_PAGER, PAGER", "pager for log, show and help; 'less -FRX' otherwise"),
        ("VAULTCTL_EDITOR, VISUAL, EDITOR", "editor for commit messages"),
        ("XDG_CONFIG_HOME, HOME", "where the user configuration lies"),
        ("XDG_DATA_HOME", "where the user's access tokens lie"),
        ("VAULTCTL_TRACE", "a file, or 2 for standard error: one JSON line per step and request, without secrets"),
        ("NO_COLOR, CLICOLOR_FORCE, TERM", "colour off, on, off when 'dumb'"),
        ("COLUMNS", "width of progress lines"),
        ("TZ", "zone of the times in text output"),
        ("SOURCE_DATE_EPOCH", "fixed time for commits, in seconds since 1970"),
        ("CI", "when not empty: never ask, no advice"),
    ]

    /// The files that are read and written.
    static let files: [(name: String, help: String)] = [
        (".sg_vault/", "the encrypted store and the local state of a clone"),
        (".sg_vault/local/token", "access token of the recorded server, shared with sgit"),
        (".sg_vault/local/vaultctl/config.json", "settings of one clone"),
        ("$XDG_CONFIG_HOME/vaultctl/config.json", "settings of the user; default ~/.config/vaultctl/config.json"),
        (
            "$XDG_DATA_HOME/vaultctl/tokens.json",
            "access tokens of the user by server; default ~/.local/share/vaultctl/tokens.json"
        ),
        ("~/.sg-send/", "identities and contacts, shared with sgit; another folder by keys.store or --home"),
        ("/etc/vaultctl/config.json", "settings of the machine"),
    ]

    /// How revisions are spelled.
    static let revisions = """
        A revision is HEAD or @, a commit id or a unique prefix of at least four digits, a branch name, \
        origin/BRANCH for the last known head of the remote, and any of these with ~N (N commits back along first \
        parents) or ^N (the Nth parent). A..B are the commits of B that A lacks.
        """

    /// How paths are spelled.
    static let paths = """
        Paths are relative to the current directory; a leading ':/' makes them relative to the vault's root. They are \
        bytes: nothing is folded or normalised. '--' ends the options, and separates revisions from paths.
        """
}
