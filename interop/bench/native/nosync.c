// Preloaded into a command: syncing does nothing. What durability costs is the difference.
int fsync(int file) { (void)file; return 0; }
int fdatasync(int file) { (void)file; return 0; }
int syncfs(int file) { (void)file; return 0; }
