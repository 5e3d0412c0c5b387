// What the Swift importer does not bring in from the C library: calls behind _GNU_SOURCE, variadic functions,
// macros, and code that must be safe inside a signal handler. Every call returns -1 and sets errno on failure,
// unless said otherwise.
#pragma once

#include <stddef.h>
#include <stdint.h>

// --- files (files.c) ---

// The part of struct stat that is used; kind is st_mode & S_IFMT.
struct vs_status {
    uint32_t kind;
    uint32_t mode;
    int64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
    uint64_t inode;
    uint64_t device;
    uint64_t link_count;
    uint32_t owner;
};

// lstat of a name in a directory.
int vs_status_at(int directory, const char *name, struct vs_status *out);
// stat (follow) or lstat of a path.
int vs_status_of_path(const char *path, int follow, struct vs_status *out);
// fstat.
int vs_status_of_descriptor(int descriptor, struct vs_status *out);

// openat with a mode, close-on-exec and never the controlling terminal.
int vs_open_at(int directory, const char *name, int flags, uint32_t mode);
// A file without a name in the directory.
int vs_open_unnamed(int directory, uint32_t mode);
// Gives an open unnamed file a name; fails with EEXIST when it is taken.
int vs_link_descriptor(int descriptor, int directory, const char *name);
// A regular read of a file below a directory, by a relative path of several names: no link is followed on the way and
// nothing leads out. ENOSYS where the kernel, or a sandbox around it, has no such call.
int vs_open_beneath(int directory, const char *path);
// renameat2; with no_replace it fails with EEXIST when the target stands.
int vs_rename(int from_directory, const char *from, int to_directory, const char *to, int no_replace);
// syncfs.
int vs_sync_file_system(int descriptor);
// Bytes and inodes that an unprivileged process may still use; INT64_MAX for uncounted inodes.
int vs_available(int descriptor, int64_t *bytes, int64_t *inodes);

// --- process (process.c) ---

// Core dumps off, for this process and by the size limit.
void vs_disable_core_dumps(void);
// Lets this process have as many open files as it may; the number.
int vs_raise_open_files(void);
// Processors this process may run on; at least 1.
int vs_processor_count(void);
// The C name of an errno value ("ENOENT"), or NULL.
const char *vs_errno_name(int code);
// The sentence of the C library for an errno value; always terminates the buffer.
void vs_errno_text(int code, char *buffer, size_t size);
// Columns of the terminal behind a descriptor, 0 when unknown.
int vs_terminal_columns(int descriptor);
// Ends the process as a power cut would: nothing runs after it.
void vs_kill_self(void);
// pipe2 with close-on-exec.
int vs_pipe(int *reading, int *writing);
// Runs `/bin/sh -c command` with stdin from `input` (/dev/null for -1), stdout to `output` (the same as here for -1),
// the given environment, default signal dispositions and an empty signal mask. Returns 0 or an errno value.
int vs_spawn_shell(const char *command, char *const environment[], int input, int output, int *process);
// The process environment.
char **vs_environment(void);
// How a process ended, from the status word of waitpid: the exit code, or 128 + signal.
int vs_exit_code(int status);

// --- local time (time.c) ---

// A time of the zone of TZ, in numbers as people write them.
struct vs_local_time {
    int year, month, day, hour, minute, second;
    // East of UTC.
    int offset_minutes;
};

// The local time of seconds since 1970.
int vs_local_time_of(int64_t seconds, struct vs_local_time *out);
// Seconds since 1970 of a local time; the zone decides about daylight saving, the offset is not read.
int vs_seconds_of_local_time(const struct vs_local_time *time, int64_t *seconds);

// --- signals (signals.c) ---

// Handles SIGINT, SIGTERM and SIGHUP by noting them, and ignores SIGPIPE and SIGXFSZ. SIGHUP stays ignored where it was
// (nohup). A second SIGINT within two seconds restores the terminal and ends the process with status 130; a SIGTERM that
// comes two seconds after the first, or later, with status 143.
void vs_signals_install(void);
// The first signal noted since the last vs_signals_clear, or 0.
int vs_signals_pending(void);
void vs_signals_clear(void);
// From now on SIGHUP asks for a reload instead of an end, also where it was ignored: it is counted and nothing else.
void vs_signals_count_hangups(void);
// How many SIGHUP arrived since then.
int vs_signals_hangups(void);
// Turns echo off on a terminal; the old mode is put back by vs_echo_restore, also from the signal handler.
int vs_echo_off(int terminal);
void vs_echo_restore(void);
