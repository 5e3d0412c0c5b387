// libcurl, opened on first use: no command that stays on this machine pays for loading it.
//
// A client is one thread that drives all transfers of its owner, so that they share connections and, where the server
// offers it, run side by side over one. What Swift sees here is a request going in and five callbacks.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct vc_client;

// Opens the library; 0, or -1 when it is not installed or lacks a function.
int vc_load(void);
// Why vc_load failed.
const char *vc_load_error(void);

// What a callback wants.
enum vc_verdict {
    VC_GO = 0,
    // End the transfer.
    VC_STOP = 1,
    // Nothing can be taken or given now: call again after vc_resume.
    VC_WAIT = 2,
};

// How a transfer ended.
enum vc_ending {
    // A whole answer has arrived, of whatever status.
    VC_ANSWERED = 0,
    // No byte of the request has left this machine.
    VC_UNRESOLVED,
    VC_UNCONNECTED,
    VC_TLS,
    VC_PROXY,
    // The connection was lost after it had been made: the server may have acted on the request or not.
    VC_LOST,
    // The answer ended early or is no HTTP.
    VC_GARBLED,
    // No byte moved for too long.
    VC_STALLED,
    // A callback said VC_STOP, vc_cancel was called, or the client was told to stop.
    VC_STOPPED,
    VC_CANCELLED,
    VC_INTERRUPTED,
    // Anything else, for example no memory.
    VC_BROKEN,
};

struct vc_result {
    enum vc_ending ending;
    // The sentence of the library, terminated.
    char message[256];
    // 0 when no answer began.
    int status;
    // 10, 11, 20; 0 when no answer began.
    int http_version;
    // Whether the request went over a connection that had been used before.
    int reused;
};

// All are called on the client's thread. `ended` is the last call of a request and comes exactly once.
struct vc_events {
    void *context;
    // One line of the answer's head, the line end included.
    int (*head)(void *context, const void *bytes, size_t count);
    // A piece of the answer's body.
    int (*body)(void *context, const void *bytes, size_t count);
    // The next piece of the request's body, at most `count` bytes.
    int (*fill)(void *context, void *bytes, size_t count, size_t *given);
    // Begin the request's body again; VC_STOP when that is impossible.
    int (*rewind)(void *context);
    void (*ended)(void *context, const struct vc_result *result);
};

// Everything is copied.
struct vc_request {
    // "GET", "PUT", "POST" or "DELETE".
    const char *method;
    const char *url;
    // "Name: value", without line ends.
    const char *const *headers;
    size_t header_count;
    // Of the body; -1 for none.
    int64_t body_size;
    // A proxy's URL, or NULL. Nothing of the environment is looked at.
    const char *proxy;
};

struct vc_options {
    // Transfers under way at once; the others wait for their turn.
    unsigned parallel;
    // A transfer in which no byte moves for this time ends.
    int64_t stall_ms;
    int verify_tls;
    // More certificates to trust; NULL for those of the system alone.
    const char *ca_file, *ca_folder;
    void *context;
    // Called about ten times a second while transfers are under way; not 0 ends all of them as VC_INTERRUPTED.
    int (*tick)(void *context);
    // The last call with `context`, on whatever thread; it comes also when vc_client_new gives NULL.
    void (*released)(void *context);
};

// NULL when there is no memory or no thread.
struct vc_client *vc_client_new(const struct vc_options *options);
// Ends every transfer as VC_CANCELLED and then the client; may be called from a callback.
void vc_client_free(struct vc_client *client);

// Queues a request and gives its number; 0 when there is no memory, and then no callback follows.
uint64_t vc_start(struct vc_client *client, const struct vc_request *request, const struct vc_events *events);
// Both do nothing for a request that has ended.
void vc_cancel(struct vc_client *client, uint64_t number);
void vc_resume(struct vc_client *client, uint64_t number);
