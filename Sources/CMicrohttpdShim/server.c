#define _GNU_SOURCE
#include "CMicrohttpdShim.h"
#include "library.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// A connection with the moment at which it counts as too slow.
struct connection {
    struct connection *next, *previous;
    int descriptor;
    _Atomic int64_t deadline_ms;
    // A body is awaited, and how often it was seen that no more of it can come.
    atomic_int awaits_body;
    int hangups;
};

struct ms_server {
    struct MHD_Daemon *daemon;
    struct ms_handlers handlers;
    int64_t idle_ms;
    int64_t slowest_rate;
    atomic_uint active;
    atomic_uint connection_count;
    atomic_int draining;
    // The listening socket once the library has let go of it; -1 before.
    int listening;
    // Guards the list: a descriptor in it is open as long as the lock is held.
    pthread_mutex_t mutex;
    struct connection *first;
};

struct ms_exchange {
    struct ms_server *server;
    struct MHD_Connection *connection;
    struct connection *timing;
    const char *method;
    char *target;
    void *handle;
    struct MHD_Response *response;
    unsigned status;
    uint64_t answer_bytes;
    // What the client had taken of the connection before this answer; only of large ones.
    uint64_t taken_before;
    uint64_t received;
    // Of a body that is refused.
    uint64_t dropped;
    int64_t begun_ms;
    char has_begun, has_body, has_ended, is_suspended;
};

static const int64_t never = INT64_MAX;

// So much of a refused body is read and dropped: who is still sending when the connection ends sees no answer.
static const uint64_t most_dropped = 64 << 20;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void set_deadline(struct ms_exchange *exchange, int64_t deadline) {
    if (exchange->timing) atomic_store_explicit(&exchange->timing->deadline_ms, deadline, memory_order_relaxed);
}

// When so many bytes, counted from `start`, must have moved.
static int64_t deadline_for(struct ms_server *server, int64_t start, uint64_t bytes) {
    return start + server->idle_ms + (int64_t)(bytes / (uint64_t)server->slowest_rate) * 1000;
}

// --- connections ---

static void connection_changed(void *context, struct MHD_Connection *connection, void **place,
                               enum MHD_ConnectionNotificationCode code) {
    struct ms_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *timing = calloc(1, sizeof *timing);
        *place = timing;
        if (!timing) return;
        const union MHD_ConnectionInfo *info =
            ms_library.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        timing->descriptor = info ? info->connect_fd : -1;
        atomic_store(&timing->deadline_ms, now_ms() + server->idle_ms);
        atomic_fetch_add(&server->connection_count, 1);
        pthread_mutex_lock(&server->mutex);
        timing->next = server->first;
        if (server->first) server->first->previous = timing;
        server->first = timing;
        pthread_mutex_unlock(&server->mutex);
        return;
    }
    struct connection *timing = *place;
    if (!timing) return;
    pthread_mutex_lock(&server->mutex);
    if (timing->next) timing->next->previous = timing->previous;
    if (timing->previous) timing->previous->next = timing->next;
    else server->first = timing->next;
    pthread_mutex_unlock(&server->mutex);
    atomic_fetch_sub(&server->connection_count, 1);
    free(timing);
    *place = NULL;
}

// Whether the client has gone in the middle of a body. The library overlooks an end of stream that arrives together
// with the last bytes. Seen twice, for those bytes may still be on their way through the library.
static int is_abandoned(struct connection *timing) {
    struct pollfd poller = {.fd = timing->descriptor, .events = POLLRDHUP};
    char byte;
    int is_gone = atomic_load(&timing->awaits_body) && poll(&poller, 1, 0) > 0 &&
                  recv(timing->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    timing->hangups = is_gone ? timing->hangups + 1 : 0;
    return timing->hangups > 1;
}

void ms_sweep(struct ms_server *server) {
    int64_t now = now_ms();
    pthread_mutex_lock(&server->mutex);
    for (struct connection *timing = server->first; timing; timing = timing->next) {
        if (timing->descriptor < 0) continue;
        if (atomic_load_explicit(&timing->deadline_ms, memory_order_relaxed) < now || is_abandoned(timing)) {
            // The library sees the end of the stream and closes the connection itself.
            shutdown(timing->descriptor, SHUT_RDWR);
        }
    }
    pthread_mutex_unlock(&server->mutex);
}

// --- requests ---

static void *request_line(void *context, const char *uri, struct MHD_Connection *connection) {
    struct ms_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->server = context;
    exchange->connection = connection;
    exchange->target = strdup(uri);
    const union MHD_ConnectionInfo *info =
        ms_library.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    exchange->timing = info ? info->socket_context : NULL;
    return exchange;
}

static void discard_response(struct ms_exchange *exchange) {
    if (exchange->response) ms_library.destroy_response(exchange->response);
    exchange->response = NULL;
}

// An answer of more bytes can be broken off in its middle; a smaller one goes out at once, or not at all.
static const uint64_t one_piece = 16 << 10;

// Bytes that the client has acknowledged since the connection stands.
static uint64_t taken(struct connection *timing) {
    struct tcp_info info;
    memset(&info, 0, sizeof info);
    socklen_t size = sizeof info;
    if (!timing || getsockopt(timing->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    return info.tcpi_bytes_acked;
}

// What the client has of an answer that did not come to its end.
static uint64_t sent_part(struct ms_exchange *exchange) {
    if (exchange->answer_bytes <= one_piece) return 0;
    uint64_t now = taken(exchange->timing);
    uint64_t sent = now > exchange->taken_before ? now - exchange->taken_before : 0;
    return sent < exchange->answer_bytes ? sent : exchange->answer_bytes;
}

static enum MHD_Result queue(struct ms_exchange *exchange) {
    if (atomic_load_explicit(&exchange->server->draining, memory_order_relaxed)) {
        ms_library.add_header(exchange->response, "Connection", "close");
    }
    set_deadline(exchange, deadline_for(exchange->server, now_ms(), exchange->answer_bytes));
    if (exchange->answer_bytes > one_piece) exchange->taken_before = taken(exchange->timing);
    enum MHD_Result result =
        ms_library.queue_response(exchange->connection, exchange->status, exchange->response);
    discard_response(exchange);
    return result;
}

// Whether it is known how much of a refused body there is to drop, and it is not too much.
static int has_one_length(struct ms_exchange *exchange, const char *length) {
    if (!length) return 1;
    return !ms_header(exchange, "Transfer-Encoding") && ms_header_count(exchange, "Content-Length") == 1 &&
           strtoull(length, NULL, 10) <= most_dropped;
}

static enum MHD_Result begin(struct ms_exchange *exchange, const char *method) {
    exchange->has_begun = 1;
    exchange->method = method;
    if (!exchange->target) return MHD_NO;
    const char *length = ms_header(exchange, "Content-Length");
    exchange->has_body = (length && strcmp(length, "0") != 0) || ms_header(exchange, "Transfer-Encoding") != NULL;
    exchange->begun_ms = now_ms();
    set_deadline(exchange, deadline_for(exchange->server, exchange->begun_ms, 0));
    if (exchange->timing) atomic_store(&exchange->timing->awaits_body, exchange->has_body);
    atomic_fetch_add(&exchange->server->active, 1);
    exchange->handle = exchange->server->handlers.begin(exchange->server->handlers.context, exchange);
    if (!exchange->handle) return MHD_NO;
    // An answer before the body ends the connection: for clients that wait for it, and where there is no other way.
    int is_early = exchange->has_body && (ms_header(exchange, "Expect") || !has_one_length(exchange, length));
    return exchange->response && is_early ? queue(exchange) : MHD_YES;
}

static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload, size_t *size,
                                      void **place) {
    (void)context;
    (void)connection;
    (void)url;
    (void)version;
    struct ms_exchange *exchange = *place;
    if (!exchange) return MHD_NO;
    if (!exchange->has_begun) return begin(exchange, method);
    struct ms_handlers *handlers = &exchange->server->handlers;
    if (*size > 0) {
        exchange->received += *size;
        set_deadline(exchange, deadline_for(exchange->server, exchange->begun_ms, exchange->received));
        if (!exchange->response) {
            handlers->body(exchange->handle, upload, *size);
        } else if ((exchange->dropped += *size) > most_dropped) {
            // The library takes no answer in the middle of a body.
            return MHD_NO;
        }
        *size = 0;
        return MHD_YES;
    }
    if (exchange->timing) atomic_store(&exchange->timing->awaits_body, 0);
    if (!exchange->response && !exchange->has_ended) {
        exchange->has_ended = 1;
        set_deadline(exchange, never);
        handlers->end(exchange->handle);
        // Another thread may be setting the answer already: it is looked at after it resumed the connection.
        if (exchange->is_suspended) return MHD_YES;
    }
    return exchange->response ? queue(exchange) : MHD_NO;
}

static void request_completed(void *context, struct MHD_Connection *connection, void **place,
                              enum MHD_RequestTerminationCode code) {
    (void)connection;
    struct ms_server *server = context;
    struct ms_exchange *exchange = *place;
    if (!exchange) return;
    *place = NULL;
    discard_response(exchange);
    if (exchange->handle) {
        int is_complete = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
        server->handlers.finished(exchange->handle, is_complete,
                                  is_complete ? exchange->answer_bytes : sent_part(exchange));
    }
    if (exchange->has_begun && exchange->target) atomic_fetch_sub(&server->active, 1);
    set_deadline(exchange, now_ms() + server->idle_ms);
    if (exchange->timing) atomic_store(&exchange->timing->awaits_body, 0);
    free(exchange->target);
    free(exchange);
}

static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static void drop_message(void *context, const char *format, va_list arguments) {
    (void)context;
    (void)format;
    (void)arguments;
}

// --- life ---

struct ms_server *ms_start(const struct ms_options *options, const struct ms_handlers *handlers) {
    struct ms_server *server = calloc(1, sizeof *server);
    if (!server) return NULL;
    server->handlers = *handlers;
    server->listening = -1;
    server->idle_ms = (int64_t)options->idle_seconds * 1000;
    server->slowest_rate = options->slowest_rate > 0 ? options->slowest_rate : 1;
    pthread_mutex_init(&server->mutex, NULL);
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO | MHD_USE_ERROR_LOG;
    if (options->certificate) flags |= MHD_USE_TLS;
    // The logger stands first: options after it are reported through it.
    server->daemon = ms_library.start_daemon(
        flags, 0, NULL, NULL, handle_request, server, MHD_OPTION_EXTERNAL_LOGGER, drop_message, NULL,
        MHD_OPTION_LISTEN_SOCKET, options->socket, MHD_OPTION_THREAD_POOL_SIZE, options->threads,
        MHD_OPTION_CONNECTION_LIMIT, options->connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        options->connections_per_client, MHD_OPTION_CONNECTION_TIMEOUT, options->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(64 << 10), MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, request_line, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, request_completed, server, MHD_OPTION_NOTIFY_CONNECTION, connection_changed,
        server, MHD_OPTION_ARRAY, options->certificate ? tls : none, MHD_OPTION_END);
    if (!server->daemon) {
        pthread_mutex_destroy(&server->mutex);
        free(server);
        return NULL;
    }
    return server;
}

void ms_drain(struct ms_server *server) {
    if (atomic_exchange(&server->draining, 1)) return;
    server->listening = ms_library.quiesce_daemon(server->daemon);
    // Refuses clients at once. Not closed yet: a thread of the library may be about to use it, and would then meet
    // whatever got its number.
    if (server->listening >= 0) shutdown(server->listening, SHUT_RD);
}

unsigned ms_active(struct ms_server *server) {
    return atomic_load(&server->active);
}

unsigned ms_connections(struct ms_server *server) {
    return atomic_load(&server->connection_count);
}

void ms_stop(struct ms_server *server) {
    ms_library.stop_daemon(server->daemon);
    if (server->listening >= 0) close(server->listening);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

// --- a request ---

const char *ms_method(struct ms_exchange *exchange) {
    return exchange->method;
}

const char *ms_target(struct ms_exchange *exchange) {
    return exchange->target;
}

const char *ms_header(struct ms_exchange *exchange, const char *name) {
    return ms_library.lookup(exchange->connection, MHD_HEADER_KIND, name);
}

struct count {
    const char *name;
    unsigned found;
};

static enum MHD_Result count_one(void *context, enum MHD_ValueKind kind, const char *key, const char *value) {
    (void)kind;
    (void)value;
    struct count *count = context;
    if (strcasecmp(key, count->name) == 0) count->found++;
    return MHD_YES;
}

unsigned ms_header_count(struct ms_exchange *exchange, const char *name) {
    struct count count = {name, 0};
    ms_library.get_values(exchange->connection, MHD_HEADER_KIND, count_one, &count);
    return count.found;
}

void ms_client(struct ms_exchange *exchange, char *buffer, size_t size) {
    snprintf(buffer, size, "-");
    const union MHD_ConnectionInfo *info =
        ms_library.get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr) return;
    if (info->client_addr->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((struct sockaddr_in *)info->client_addr)->sin_addr, buffer, (socklen_t)size);
    } else if (info->client_addr->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)info->client_addr)->sin6_addr, buffer, (socklen_t)size);
    }
}

static int answer(struct ms_exchange *exchange, unsigned status, struct MHD_Response *response, uint64_t count) {
    if (!response) return -1;
    exchange->response = response;
    exchange->status = status;
    exchange->answer_bytes = count;
    return 0;
}

int ms_answer_bytes(struct ms_exchange *exchange, unsigned status, const void *bytes, size_t count) {
    if (exchange->response) return -1;
    struct MHD_Response *response =
        ms_library.response_from_buffer(count, (void *)bytes, count > 0 ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
    return answer(exchange, status, response, count);
}

int ms_answer_file(struct ms_exchange *exchange, unsigned status, int descriptor, uint64_t offset, uint64_t count) {
    struct MHD_Response *response =
        exchange->response ? NULL : ms_library.response_from_file(count, descriptor, offset);
    if (!response) close(descriptor);
    return answer(exchange, status, response, count);
}

int ms_answer_header(struct ms_exchange *exchange, const char *name, const char *value) {
    if (!exchange->response) return -1;
    return ms_library.add_header(exchange->response, name, value) == MHD_YES ? 0 : -1;
}

void ms_suspend(struct ms_exchange *exchange) {
    exchange->is_suspended = 1;
    ms_library.suspend(exchange->connection);
}

void ms_resume(struct ms_exchange *exchange) {
    ms_library.resume(exchange->connection);
}
