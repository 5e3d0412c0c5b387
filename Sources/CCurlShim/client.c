#define _GNU_SOURCE
#include "CCurlShim.h"
#include "library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct transfer {
    struct transfer *next;
    uint64_t number;
    struct vc_events events;
    char *method, *url, *proxy;
    struct curl_slist *headers;
    int64_t body_size;
    CURL *easy;
    char error[CURL_ERROR_SIZE];
    // When a byte moved last, and whether that is up to Swift now.
    int64_t moved_ms;
    int waits;
    int was_stopped;
};

enum command_kind { CANCEL, RESUME };

struct command {
    struct command *next;
    enum command_kind kind;
    uint64_t number;
};

struct vc_client {
    CURLM *multi;
    pthread_t thread;
    unsigned parallel;
    int64_t stall_ms;
    int verify_tls;
    char *ca_file, *ca_folder;
    void *context;
    int (*tick)(void *context);
    void (*released)(void *context);
    // Guards what stands below: everything else belongs to the client's thread.
    pthread_mutex_t mutex;
    struct transfer *queue_first, *queue_last;
    struct command *command_first, *command_last;
    uint64_t last_number;
    int stops;
    // Of the thread alone.
    struct transfer *active;
    unsigned active_count;
    int frees_itself;
};

static int64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static char *copy(const char *text) {
    return text ? strdup(text) : NULL;
}

// --- transfers ---

static void transfer_free(struct transfer *transfer) {
    if (!transfer) return;
    // Tokens and write keys stand in headers.
    for (struct curl_slist *item = transfer->headers; item; item = item->next) {
        explicit_bzero(item->data, strlen(item->data));
    }
    if (transfer->headers) vc_library.slist_free_all(transfer->headers);
    // So may a password in the proxy's URL.
    if (transfer->proxy) explicit_bzero(transfer->proxy, strlen(transfer->proxy));
    free(transfer->proxy);
    free(transfer->method);
    free(transfer->url);
    free(transfer);
}

static int append_header(struct transfer *transfer, const char *line) {
    struct curl_slist *list = vc_library.slist_append(transfer->headers, line);
    if (!list) return -1;
    transfer->headers = list;
    return 0;
}

static struct transfer *transfer_new(const struct vc_request *request, const struct vc_events *events) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->events = *events;
    transfer->method = copy(request->method);
    transfer->url = copy(request->url);
    transfer->proxy = copy(request->proxy);
    transfer->body_size = request->body_size;
    int result = transfer->method && transfer->url && (!request->proxy || transfer->proxy) ? 0 : -1;
    for (size_t index = 0; result == 0 && index < request->header_count; index++) {
        result = append_header(transfer, request->headers[index]);
    }
    // Without this the library waits a second for a server that never says "continue".
    if (result == 0) result = append_header(transfer, "Expect:");
    if (result == 0) return transfer;
    transfer_free(transfer);
    return NULL;
}

static size_t on_head(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    transfer->moved_ms = now_ms();
    if (transfer->events.head(transfer->events.context, bytes, size * count) == VC_GO) return size * count;
    transfer->was_stopped = 1;
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    transfer->moved_ms = now_ms();
    switch (transfer->events.body(transfer->events.context, bytes, size * count)) {
    case VC_GO: return size * count;
    case VC_WAIT: transfer->waits = 1; return CURL_WRITEFUNC_PAUSE;
    default: transfer->was_stopped = 1; return 0;
    }
}

static size_t on_fill(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    transfer->moved_ms = now_ms();
    size_t given = 0;
    switch (transfer->events.fill(transfer->events.context, bytes, size * count, &given)) {
    case VC_GO: return given;
    case VC_WAIT: transfer->waits = 1; return CURL_READFUNC_PAUSE;
    default: transfer->was_stopped = 1; return CURL_READFUNC_ABORT;
    }
}

static int on_seek(void *context, curl_off_t offset, int origin) {
    struct transfer *transfer = context;
    if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    return transfer->events.rewind(transfer->events.context) == VC_GO ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK;
}

#define SET(option, value) \
    do { \
        if (vc_library.easy_setopt(easy, option, value) != CURLE_OK) return -1; \
    } while (0)

static int set_up(struct vc_client *client, struct transfer *transfer) {
    CURL *easy = transfer->easy;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_ERRORBUFFER, transfer->error);
    SET(CURLOPT_PRIVATE, transfer);
    // The scheme was checked before; libraries older than this option take what they are given.
    vc_library.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_URL, transfer->url);
    // Paths are opaque to a client: `..` in one is the server's affair.
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_PIPEWAIT, 1L);
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    SET(CURLOPT_HEADERFUNCTION, on_head);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_BUFFERSIZE, 256L * 1024);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)client->stall_ms);
    vc_library.easy_setopt(easy, CURLOPT_MAXAGE_CONN, 30L);
    SET(CURLOPT_SSL_VERIFYPEER, client->verify_tls ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, client->verify_tls ? 2L : 0L);
    if (client->ca_file) SET(CURLOPT_CAINFO, client->ca_file);
    if (client->ca_folder) SET(CURLOPT_CAPATH, client->ca_folder);
    // An empty text keeps the library from looking into the environment.
    SET(CURLOPT_PROXY, transfer->proxy ? transfer->proxy : "");
    SET(CURLOPT_NOPROXY, "");
    if (transfer->body_size >= 0) {
        SET(CURLOPT_READFUNCTION, on_fill);
        SET(CURLOPT_READDATA, transfer);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, transfer);
        SET(CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
        if (strcmp(transfer->method, "PUT") == 0) {
            SET(CURLOPT_UPLOAD, 1L);
            SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->body_size);
        } else {
            SET(CURLOPT_POST, 1L);
            SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body_size);
        }
    }
    if (strcmp(transfer->method, "GET") != 0) SET(CURLOPT_CUSTOMREQUEST, transfer->method);
    return 0;
}

static enum vc_ending ending_of(CURLcode code, const struct transfer *transfer) {
    if (transfer->was_stopped) return VC_STOPPED;
    long os_error = 0;
    switch (code) {
    case CURLE_OK: return VC_ANSWERED;
    case CURLE_COULDNT_RESOLVE_HOST: return VC_UNRESOLVED;
    case CURLE_COULDNT_CONNECT: return VC_UNCONNECTED;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY: return VC_PROXY;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED: return VC_TLS;
    case CURLE_OPERATION_TIMEDOUT:
        // Only the connection has a time limit of the library.
        return VC_STALLED;
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return VC_LOST;
    case CURLE_RECV_ERROR:
        // A proxy that refuses the tunnel is told as an error of reading.
        if (vc_library.easy_getinfo(transfer->easy, CURLINFO_HTTP_CONNECTCODE, &os_error) == CURLE_OK && os_error >= 400) {
            return VC_PROXY;
        }
        return VC_LOST;
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING: return VC_GARBLED;
    default: return VC_BROKEN;
    }
}

// Takes a transfer out of the multi handle, tells its end and frees it.
static void conclude(struct vc_client *client, struct transfer *transfer, enum vc_ending ending, CURLcode code) {
    struct vc_result result = {.ending = ending};
    if (transfer->easy) {
        long status = 0, version = 0, connects = 0;
        vc_library.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        vc_library.easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
        vc_library.easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connects);
        result.status = (int)status;
        result.http_version = version == CURL_HTTP_VERSION_2_0 ? 20
            : version == CURL_HTTP_VERSION_1_1                  ? 11
            : version == CURL_HTTP_VERSION_1_0                  ? 10
                                                                : 0;
        result.reused = connects == 0;
        const char *text = transfer->error[0] ? transfer->error : vc_library.easy_strerror(code);
        if (ending != VC_ANSWERED) snprintf(result.message, sizeof result.message, "%s", text);
        vc_library.multi_remove_handle(client->multi, transfer->easy);
        vc_library.easy_cleanup(transfer->easy);
    }
    transfer->events.ended(transfer->events.context, &result);
    transfer_free(transfer);
}

static void drop_active(struct vc_client *client, struct transfer *transfer) {
    for (struct transfer **place = &client->active; *place; place = &(*place)->next) {
        if (*place != transfer) continue;
        *place = transfer->next;
        client->active_count--;
        return;
    }
}

static void activate(struct vc_client *client, struct transfer *transfer) {
    transfer->easy = vc_library.easy_init();
    transfer->moved_ms = now_ms();
    if (!transfer->easy || set_up(client, transfer) != 0
        || vc_library.multi_add_handle(client->multi, transfer->easy) != CURLM_OK) {
        conclude(client, transfer, VC_BROKEN, CURLE_OUT_OF_MEMORY);
        return;
    }
    transfer->next = client->active;
    client->active = transfer;
    client->active_count++;
}

static void obey(struct vc_client *client, const struct command *command) {
    for (struct transfer *transfer = client->active; transfer; transfer = transfer->next) {
        if (transfer->number != command->number) continue;
        if (command->kind == CANCEL) {
            drop_active(client, transfer);
            conclude(client, transfer, VC_CANCELLED, CURLE_OK);
        } else {
            transfer->waits = 0;
            transfer->moved_ms = now_ms();
            vc_library.easy_pause(transfer->easy, CURLPAUSE_CONT);
        }
        return;
    }
    if (command->kind != CANCEL) return;
    // It may not have had its turn yet.
    struct transfer *found = NULL;
    pthread_mutex_lock(&client->mutex);
    struct transfer *before = NULL;
    for (struct transfer *transfer = client->queue_first; transfer; before = transfer, transfer = transfer->next) {
        if (transfer->number != command->number) continue;
        if (before) before->next = transfer->next; else client->queue_first = transfer->next;
        if (client->queue_last == transfer) client->queue_last = before;
        found = transfer;
        break;
    }
    pthread_mutex_unlock(&client->mutex);
    if (found) conclude(client, found, VC_CANCELLED, CURLE_OK);
}

static void end_active(struct vc_client *client, enum vc_ending ending) {
    while (client->active) {
        struct transfer *transfer = client->active;
        drop_active(client, transfer);
        conclude(client, transfer, ending, CURLE_OK);
    }
}

static void end_queued(struct vc_client *client, enum vc_ending ending) {
    pthread_mutex_lock(&client->mutex);
    struct transfer *transfer = client->queue_first;
    client->queue_first = client->queue_last = NULL;
    pthread_mutex_unlock(&client->mutex);
    while (transfer) {
        struct transfer *next = transfer->next;
        conclude(client, transfer, ending, CURLE_OK);
        transfer = next;
    }
}

static void end_stalled(struct vc_client *client) {
    int64_t now = now_ms();
    struct transfer *transfer = client->active;
    while (transfer) {
        struct transfer *next = transfer->next;
        if (!transfer->waits && now - transfer->moved_ms >= client->stall_ms) {
            drop_active(client, transfer);
            conclude(client, transfer, VC_STALLED, CURLE_OPERATION_TIMEDOUT);
        }
        transfer = next;
    }
}

static void take_finished(struct vc_client *client) {
    CURLMsg *message;
    int left;
    while ((message = vc_library.multi_info_read(client->multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode code = message->data.result;
        struct transfer *transfer = NULL;
        vc_library.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        drop_active(client, transfer);
        conclude(client, transfer, ending_of(code, transfer), code);
    }
}

// --- the client ---

static void client_destroy(struct vc_client *client) {
    if (client->multi) vc_library.multi_cleanup(client->multi);
    pthread_mutex_destroy(&client->mutex);
    free(client->ca_file);
    free(client->ca_folder);
    if (client->released) client->released(client->context);
    free(client);
}

static void *run(void *argument) {
    struct vc_client *client = argument;
    int64_t ticked = now_ms();
    for (;;) {
        pthread_mutex_lock(&client->mutex);
        int stops = client->stops;
        struct command *commands = client->command_first;
        client->command_first = client->command_last = NULL;
        pthread_mutex_unlock(&client->mutex);
        while (commands) {
            struct command *next = commands->next;
            if (!stops) obey(client, commands);
            free(commands);
            commands = next;
        }
        if (stops) break;
        while (client->active_count < client->parallel) {
            pthread_mutex_lock(&client->mutex);
            struct transfer *transfer = client->queue_first;
            if (transfer) client->queue_first = transfer->next;
            if (!client->queue_first) client->queue_last = NULL;
            pthread_mutex_unlock(&client->mutex);
            if (!transfer) break;
            activate(client, transfer);
        }
        int running = 0;
        vc_library.multi_perform(client->multi, &running);
        take_finished(client);
        if (client->active && now_ms() - ticked >= 100) {
            ticked = now_ms();
            if (client->tick && client->tick(client->context) != 0) {
                end_active(client, VC_INTERRUPTED);
                end_queued(client, VC_INTERRUPTED);
            }
            end_stalled(client);
        }
        // Whoever queues something wakes this up; a queue that is not empty and has a free place needs no wait.
        pthread_mutex_lock(&client->mutex);
        int has_work = client->command_first || client->stops
            || (client->queue_first && client->active_count < client->parallel);
        pthread_mutex_unlock(&client->mutex);
        if (!has_work) vc_library.multi_poll(client->multi, NULL, 0, client->active ? 100 : 60000, NULL);
    }
    end_active(client, VC_CANCELLED);
    end_queued(client, VC_CANCELLED);
    if (client->frees_itself) client_destroy(client);
    return NULL;
}

struct vc_client *vc_client_new(const struct vc_options *options) {
    struct vc_client *client = calloc(1, sizeof *client);
    if (!client) {
        if (options->released) options->released(options->context);
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    client->parallel = options->parallel ? options->parallel : 1;
    client->stall_ms = options->stall_ms;
    client->verify_tls = options->verify_tls;
    client->ca_file = copy(options->ca_file);
    client->ca_folder = copy(options->ca_folder);
    client->context = options->context;
    client->tick = options->tick;
    client->released = options->released;
    client->multi = vc_library.multi_init();
    int is_whole = client->multi && (!options->ca_file || client->ca_file) && (!options->ca_folder || client->ca_folder);
    if (is_whole) {
        vc_library.multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        vc_library.multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, (long)client->parallel + 2);
        if (pthread_create(&client->thread, NULL, run, client) == 0) return client;
    }
    client_destroy(client);
    return NULL;
}

void vc_client_free(struct vc_client *client) {
    int is_own_thread = pthread_equal(pthread_self(), client->thread);
    pthread_t thread = client->thread;
    if (is_own_thread) client->frees_itself = 1;
    pthread_mutex_lock(&client->mutex);
    client->stops = 1;
    vc_library.multi_wakeup(client->multi);
    pthread_mutex_unlock(&client->mutex);
    if (is_own_thread) {
        pthread_detach(thread);
    } else {
        pthread_join(thread, NULL);
        client_destroy(client);
    }
}

uint64_t vc_start(struct vc_client *client, const struct vc_request *request, const struct vc_events *events) {
    struct transfer *transfer = transfer_new(request, events);
    if (!transfer) return 0;
    pthread_mutex_lock(&client->mutex);
    // Read before the lock is given back: the transfer may end, and be freed, at once.
    uint64_t number = transfer->number = ++client->last_number;
    if (client->queue_last) client->queue_last->next = transfer; else client->queue_first = transfer;
    client->queue_last = transfer;
    vc_library.multi_wakeup(client->multi);
    pthread_mutex_unlock(&client->mutex);
    return number;
}

static void order(struct vc_client *client, enum command_kind kind, uint64_t number) {
    struct command *command = calloc(1, sizeof *command);
    // A stall then ends the transfer that is not cancelled or resumed.
    if (!command) return;
    command->kind = kind;
    command->number = number;
    pthread_mutex_lock(&client->mutex);
    if (client->command_last) client->command_last->next = command; else client->command_first = command;
    client->command_last = command;
    vc_library.multi_wakeup(client->multi);
    pthread_mutex_unlock(&client->mutex);
}

void vc_cancel(struct vc_client *client, uint64_t number) {
    order(client, CANCEL, number);
}

void vc_resume(struct vc_client *client, uint64_t number) {
    order(client, RESUME, number);
}
