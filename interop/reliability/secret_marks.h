/* What a program under watch has to keep to itself: the keys it seals with and what it seals. */
#ifndef SECRET_MARKS_H
#define SECRET_MARKS_H
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds since 1970. */
uint64_t watch_time(void);
/* A key of 32 bytes from here on must not be written anywhere. */
void mark_key(const unsigned char *key);
/* The start of a message, which from here on must not be written to a vault's own files. */
void mark_content(const unsigned char *bytes, size_t count);

#endif
