#define _GNU_SOURCE
#include "CSystemShim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fill(const struct stat *from, struct vs_status *out) {
    out->kind = from->st_mode & S_IFMT;
    out->mode = from->st_mode & 07777;
    out->size = from->st_size;
    // Times beyond the year 2262 do not fit; the low bits still tell equal from different.
    out->modified_ns = (int64_t)((uint64_t)from->st_mtim.tv_sec * 1000000000u + (uint64_t)from->st_mtim.tv_nsec);
    out->changed_ns = (int64_t)((uint64_t)from->st_ctim.tv_sec * 1000000000u + (uint64_t)from->st_ctim.tv_nsec);
    out->inode = from->st_ino;
    out->device = from->st_dev;
    out->link_count = from->st_nlink;
    out->owner = from->st_uid;
}

int vs_status_at(int directory, const char *name, struct vs_status *out) {
    struct stat found;
    if (fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    fill(&found, out);
    return 0;
}

int vs_status_of_path(const char *path, int follow, struct vs_status *out) {
    struct stat found;
    if (fstatat(AT_FDCWD, path, &found, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return -1;
    fill(&found, out);
    return 0;
}

int vs_status_of_descriptor(int descriptor, struct vs_status *out) {
    struct stat found;
    if (fstat(descriptor, &found) != 0) return -1;
    fill(&found, out);
    return 0;
}

int vs_open_at(int directory, const char *name, int flags, uint32_t mode) {
    return openat(directory, name, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode);
}

int vs_open_beneath(int directory, const char *path) {
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int vs_open_unnamed(int directory, uint32_t mode) {
    int descriptor = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)mode);
    // Kernels and file systems without O_TMPFILE take it for opening a directory to write.
    if (descriptor < 0 && (errno == EISDIR || errno == EINVAL)) errno = EOPNOTSUPP;
    return descriptor;
}

int vs_link_descriptor(int descriptor, int directory, const char *name) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) == 0) return 0;
    // Without /proc only the direct form is left; old kernels allow it to the privileged alone.
    if (errno != ENOENT && errno != ENOTDIR) return -1;
    if (linkat(descriptor, "", directory, name, AT_EMPTY_PATH) == 0) return 0;
    if (errno == ENOENT || errno == EPERM) errno = EOPNOTSUPP;
    return -1;
}

int vs_rename(int from_directory, const char *from, int to_directory, const char *to, int no_replace) {
    if (!no_replace) return renameat(from_directory, from, to_directory, to);
    if (renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    // A file system without RENAME_NOREPLACE (some network ones): a hard link is the exclusive step there.
    struct stat found;
    if (fstatat(from_directory, from, &found, AT_SYMLINK_NOFOLLOW) != 0) return -1;
    if (!S_ISDIR(found.st_mode)) {
        if (linkat(from_directory, from, to_directory, to, 0) != 0) return -1;
        return unlinkat(from_directory, from, 0);
    }
    // rename refuses to replace a directory that is not empty; an empty one would be lost with nothing in it.
    if (fstatat(to_directory, to, &found, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    if (errno != ENOENT) return -1;
    return renameat(from_directory, from, to_directory, to);
}

int vs_sync_file_system(int descriptor) {
    return syncfs(descriptor);
}

int vs_available(int descriptor, int64_t *bytes, int64_t *inodes) {
    struct statvfs found;
    if (fstatvfs(descriptor, &found) != 0) return -1;
    unsigned __int128 free_bytes = (unsigned __int128)found.f_bavail * found.f_frsize;
    // No blocks at all: a file system without a limit, or one that does not count.
    *bytes = found.f_blocks == 0 || free_bytes > INT64_MAX ? INT64_MAX : (int64_t)free_bytes;
    *inodes = found.f_files == 0 || found.f_favail > INT64_MAX ? INT64_MAX : (int64_t)found.f_favail;
    return 0;
}
