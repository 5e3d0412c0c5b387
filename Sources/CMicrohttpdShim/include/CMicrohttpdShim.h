// libmicrohttpd, opened on first use: no command but `serve` pays for loading it and GnuTLS behind it.
//
// The library calls back with variadic options, nullable pointers and threads of its own. What Swift sees here is
// four callbacks per request and a few functions that answer it.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A running server, and one request of it.
struct ms_server;
struct ms_exchange;

// What a request leads to, in this order: begin once, body for every piece, end once, finished once. `begin`'s
// answer is the `handle` of the other three; NULL refuses the connection. All are called on threads of the library,
// those of one request never at the same time. `sent`: bytes of the answer's body; of one that the client
// broke off those that it took, its head counted with them.
struct ms_handlers {
    void *context;
    void *(*begin)(void *context, struct ms_exchange *exchange);
    void (*body)(void *handle, const void *bytes, size_t count);
    void (*end)(void *handle);
    void (*finished)(void *handle, int completed, uint64_t sent);
};

struct ms_options {
    // A socket that listens; the server closes it.
    int socket;
    unsigned threads;
    unsigned connections;
    unsigned connections_per_client;
    // A connection without traffic is closed after this time, one that sends its request head slowly as well.
    unsigned idle_seconds;
    // Bodies and answers must move this many bytes per second, after a grace of `idle_seconds`.
    unsigned slowest_rate;
    // PEM texts, terminated; both NULL without TLS.
    const char *certificate;
    const char *key;
};

// Opens the library. 0, or -1 when it is not installed, lacks a function, or lacks TLS that is asked for.
int ms_load(int needs_tls);
// Why ms_load failed.
const char *ms_load_error(void);

// A socket that listens on a numeric address; port 0 takes a free one, told in `bound`. Returns 0 or an errno value.
int ms_listen(const char *address, uint16_t port, int *socket, uint16_t *bound);
// Whether a numeric address is one of this machine's loopback; -1 when it is no address.
int ms_is_loopback(const char *address);

// NULL when the library refuses, for example a certificate.
struct ms_server *ms_start(const struct ms_options *options, const struct ms_handlers *handlers);
// Takes no more connections; requests under way go on, and their connections end with them.
void ms_drain(struct ms_server *server);
// Requests whose head has arrived and whose answer has not gone.
unsigned ms_active(struct ms_server *server);
// Open connections.
unsigned ms_connections(struct ms_server *server);
// Ends connections that are too slow. To be called about once a second.
void ms_sweep(struct ms_server *server);
// Ends the server. No request may be suspended.
void ms_stop(struct ms_server *server);

// --- a request; valid from begin to finished ---

const char *ms_method(struct ms_exchange *exchange);
// The request target as sent: path and query, nothing decoded.
const char *ms_target(struct ms_exchange *exchange);
// A header's value, or NULL.
const char *ms_header(struct ms_exchange *exchange, const char *name);
// How many headers have this name.
unsigned ms_header_count(struct ms_exchange *exchange, const char *name);
// The client's address as text.
void ms_client(struct ms_exchange *exchange, char *buffer, size_t size);

// Sets the answer; the bytes are copied. -1 when there is no memory or an answer already.
int ms_answer_bytes(struct ms_exchange *exchange, unsigned status, const void *bytes, size_t count);
// Sets the answer to a part of a file. Takes the descriptor over, also when it fails.
int ms_answer_file(struct ms_exchange *exchange, unsigned status, int descriptor, uint64_t offset, uint64_t count);
// Adds a header to the answer set before.
int ms_answer_header(struct ms_exchange *exchange, const char *name, const char *value);

// Inside end only: the answer comes later, from another thread, which then calls ms_resume.
void ms_suspend(struct ms_exchange *exchange);
void ms_resume(struct ms_exchange *exchange);
