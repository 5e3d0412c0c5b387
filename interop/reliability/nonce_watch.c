/* Notes every AES-GCM message that a program seals: key, nonce and content, all three as digests.
 *
 * Loaded before the cryptographic library by LD_PRELOAD, so the program under watch is the one that is shipped. One
 * record of 64 bytes a message goes to the file NONCE_LOG: key, nonce, process, plaintext with its length, nanoseconds
 * since 1970. */
#define _GNU_SOURCE
#include "secret_marks.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 4096, KEY_BYTES = 32, NONCE_BYTES = 12 };

struct message {
    const void *context;
    uint64_t key[2];
    unsigned char nonce[NONCE_BYTES];
    uint64_t content[2];
    uint64_t length;
    int seals;
};

static struct message slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t value) {
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93ull;
    value ^= value >> 32;
    return value;
}

static void absorb(uint64_t state[2], const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        state[0] = mix(state[0] ^ bytes[i]) + 0x9E3779B97F4A7C15ull;
        state[1] = (state[1] ^ bytes[i]) * 0x100000001B3ull;
    }
}

/* The slot of a context; a new one when `make` is set. Called under the lock. */
static struct message *find(const void *context, int make) {
    struct message *free_slot = NULL;
    size_t start = ((uintptr_t)context >> 4) % SLOTS;
    for (size_t i = 0; i < SLOTS; i++) {
        struct message *slot = &slots[(start + i) % SLOTS];
        if (slot->context == context) return slot;
        if (!slot->context && !free_slot) free_slot = slot;
    }
    if (!make || !free_slot) return NULL;
    memset(free_slot, 0, sizeof *free_slot);
    free_slot->context = context;
    return free_slot;
}

static void begin(const void *context, const unsigned char *key, const unsigned char *nonce, int seals) {
    pthread_mutex_lock(&lock);
    struct message *slot = find(context, 1);
    if (!slot) abort();
    if (key) {
        mark_key(key);
        slot->key[0] = 1;
        slot->key[1] = 0xCBF29CE484222325ull;
        absorb(slot->key, key, KEY_BYTES);
    }
    if (seals >= 0) slot->seals = seals;
    if (nonce) memcpy(slot->nonce, nonce, NONCE_BYTES);
    slot->content[0] = 2;
    slot->content[1] = 0xCBF29CE484222325ull;
    slot->length = 0;
    pthread_mutex_unlock(&lock);
}

#define NEXT(name) ((typeof(&name))next(#name))

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

int EVP_EncryptInit_ex2(void *context, const void *cipher, const unsigned char *key, const unsigned char *nonce,
                        const void *parameters) {
    begin(context, key, nonce, 1);
    return NEXT(EVP_EncryptInit_ex2)(context, cipher, key, nonce, parameters);
}

int EVP_CipherInit_ex2(void *context, const void *cipher, const unsigned char *key, const unsigned char *nonce,
                       int seals, const void *parameters) {
    begin(context, key, nonce, seals);
    return NEXT(EVP_CipherInit_ex2)(context, cipher, key, nonce, seals, parameters);
}

int EVP_CipherUpdate(void *context, unsigned char *out, int *written, const unsigned char *in, int count) {
    pthread_mutex_lock(&lock);
    struct message *slot = find(context, 0);
    if (slot && slot->seals && in && count > 0) {
        /* Additional data counts as content of another kind. */
        unsigned char kind = out ? 0 : 1;
        if (kind) absorb(slot->content, &kind, 1);
        if (!kind && !slot->length) mark_content(in, (size_t)count);
        absorb(slot->content, in, (size_t)count);
        slot->length += (uint64_t)count;
    }
    pthread_mutex_unlock(&lock);
    return NEXT(EVP_CipherUpdate)(context, out, written, in, count);
}

int EVP_CipherFinal_ex(void *context, unsigned char *out, int *written) {
    unsigned char record[64] = {0};
    uint64_t now = watch_time();
    uint32_t process = (uint32_t)getpid();
    pthread_mutex_lock(&lock);
    struct message *slot = find(context, 0);
    int seals = slot && slot->seals;
    if (seals) {
        memcpy(record, slot->key, 16);
        memcpy(record + 16, slot->nonce, NONCE_BYTES);
        memcpy(record + 28, &process, 4);
        memcpy(record + 32, slot->content, 16);
        memcpy(record + 48, &slot->length, 8);
        memcpy(record + 56, &now, 8);
    }
    pthread_mutex_unlock(&lock);
    const char *path = getenv("NONCE_LOG");
    if (seals && path) {
        int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || write(file, record, sizeof record) != sizeof record) abort();
        close(file);
    }
    return NEXT(EVP_CipherFinal_ex)(context, out, written);
}

void EVP_CIPHER_CTX_free(void *context) {
    pthread_mutex_lock(&lock);
    struct message *slot = context ? find(context, 0) : NULL;
    if (slot) memset(slot, 0, sizeof *slot);
    pthread_mutex_unlock(&lock);
    NEXT(EVP_CIPHER_CTX_free)(context);
}
