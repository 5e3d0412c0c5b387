/* Searches what a program writes for the keys it seals with and for what it seals.
 *
 * Keys are looked for in every write(), pwrite() and fwrite() of the process, as they are, in hex and in base64;
 * pieces of sealed contents only in files of a vault (below `.sg_vault` or `bare`), where nothing is readable. One line
 * a find goes to the file SECRET_LOG: nanoseconds since 1970, kind, process, the first bytes written, path. Without
 * that variable nothing is searched. Keys and contents that repeat few bytes are not looked for: tests fill files with
 * such bytes. */
#define _GNU_SOURCE
#include "secret_marks.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_BYTES = 32, FIRST = 8, SPELLINGS = 6, KEY_SLOTS = 1 << 16, CONTENT_SLOTS = 1 << 16, PIECE = 32, VARIED = 10 };

struct mark {
    unsigned char length; /* 0: a free slot */
    unsigned char bytes[64];
};

static struct mark keys[KEY_SLOTS], contents[CONTENT_SLOTS];
static size_t key_count;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

uint64_t watch_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int is_searching(void) { return getenv("SECRET_LOG") != NULL; }

static size_t place(const unsigned char *bytes) {
    uint64_t first;
    memcpy(&first, bytes, FIRST);
    first *= 0x9E3779B97F4A7C15ull;
    return (size_t)(first >> 48);
}

static int is_varied(const unsigned char *bytes, size_t count) {
    unsigned char seen[256] = {0};
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) distinct += !seen[bytes[i]]++;
    return distinct >= VARIED;
}

/* Under the lock. The table is never filled beyond its half. */
static void add_key(const unsigned char *bytes, size_t length) {
    size_t slot = place(bytes);
    for (; keys[slot].length; slot = (slot + 1) % KEY_SLOTS)
        if (keys[slot].length == length && !memcmp(keys[slot].bytes, bytes, length)) return;
    memcpy(keys[slot].bytes, bytes, length);
    keys[slot].length = (unsigned char)length;
    if (++key_count > KEY_SLOTS / 2) abort();
}

/* The base64 of the key behind `before` other bytes, without the digits that depend on what stands around it. */
static size_t base64_part(const unsigned char *key, size_t before, unsigned char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char padded[KEY_BYTES + 2] = {0};
    memcpy(padded + before, key, KEY_BYTES);
    size_t written = 0;
    for (size_t i = before ? 3 : 0; i + 3 <= before + KEY_BYTES; i += 3) {
        uint32_t group = (uint32_t)padded[i] << 16 | (uint32_t)padded[i + 1] << 8 | padded[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) out[written++] = (unsigned char)digits[group >> shift & 63];
    }
    return written;
}

void mark_key(const unsigned char *key) {
    if (!is_searching() || !is_varied(key, KEY_BYTES)) return;
    unsigned char lower[2 * KEY_BYTES], upper[2 * KEY_BYTES], encoded[64];
    for (size_t i = 0; i < KEY_BYTES; i++) {
        lower[2 * i] = (unsigned char)"0123456789abcdef"[key[i] >> 4];
        lower[2 * i + 1] = (unsigned char)"0123456789abcdef"[key[i] & 15];
        upper[2 * i] = (unsigned char)"0123456789ABCDEF"[key[i] >> 4];
        upper[2 * i + 1] = (unsigned char)"0123456789ABCDEF"[key[i] & 15];
    }
    pthread_rwlock_wrlock(&lock);
    add_key(key, KEY_BYTES);
    add_key(lower, sizeof lower);
    add_key(upper, sizeof upper);
    for (size_t before = 0; before < 3; before++) add_key(encoded, base64_part(key, before, encoded));
    pthread_rwlock_unlock(&lock);
}

void mark_content(const unsigned char *bytes, size_t count) {
    if (count < PIECE || !is_searching()) return;
    const unsigned char *piece = bytes + (count - PIECE) / 2;
    if (!is_varied(piece, PIECE)) return;
    pthread_rwlock_wrlock(&lock);
    struct mark *slot = &contents[place(piece)];
    memcpy(slot->bytes, piece, PIECE);
    slot->length = PIECE;
    pthread_rwlock_unlock(&lock);
}

static int begins_with_key(const unsigned char *bytes, size_t count) {
    for (size_t slot = place(bytes); keys[slot].length; slot = (slot + 1) % KEY_SLOTS)
        if (keys[slot].length <= count && !memcmp(keys[slot].bytes, bytes, keys[slot].length)) return 1;
    return 0;
}

static int begins_with_content(const unsigned char *bytes, size_t count) {
    const struct mark *slot = &contents[place(bytes)];
    return slot->length && slot->length <= count && !memcmp(slot->bytes, bytes, slot->length);
}

static void tell(const char *kind, const unsigned char *bytes, size_t count, const char *path) {
    char line[4600];
    char start[2 * 16 + 1] = "";
    for (size_t i = 0; i < 16 && i < count; i++) sprintf(start + 2 * i, "%02x", bytes[i]);
    int length = snprintf(line, sizeof line, "%llu %s %d %s %s\n", (unsigned long long)watch_time(), kind, (int)getpid(),
                          start[0] ? start : "-", path);
    int log = open(getenv("SECRET_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    ssize_t (*next)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (log < 0 || next(log, line, (size_t)length) != length) abort();
    close(log);
}

static void search(int file, const unsigned char *bytes, size_t count) {
    if (count < FIRST || !is_searching()) return;
    char path[4096] = "", link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    int is_vaults = strstr(path, "/.sg_vault/") || strstr(path, "/bare/");
    int found_key = 0, found_content = 0;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i + FIRST <= count; i++) {
        found_key |= begins_with_key(bytes + i, count - i);
        found_content |= is_vaults && begins_with_content(bytes + i, count - i);
    }
    pthread_rwlock_unlock(&lock);
    if (found_key) tell("key", bytes, count, path);
    if (found_content) tell("content", bytes, count, path);
}

#define NEXT(name) ((typeof(&name))next_function(#name))

static void *next_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

ssize_t write(int file, const void *bytes, size_t count) {
    search(file, bytes, count);
    return NEXT(write)(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    search(file, bytes, count);
    return NEXT(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    search(file, bytes, count);
    return NEXT(pwrite64)(file, bytes, count, offset);
}

size_t fwrite(const void *restrict bytes, size_t size, size_t count, FILE *restrict file) {
    search(fileno(file), bytes, size * count);
    return NEXT(fwrite)(bytes, size, count, file);
}
