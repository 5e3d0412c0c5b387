#include "library.h"
#include "CMicrohttpdShim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct ms_library ms_library;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static int is_loaded;
static char load_error[256];

struct symbol {
    const char *name;
    void **place;
};

static int fill(void *handle) {
    const struct symbol symbols[] = {
        {"MHD_start_daemon", (void **)&ms_library.start_daemon},
        {"MHD_stop_daemon", (void **)&ms_library.stop_daemon},
        {"MHD_quiesce_daemon", (void **)&ms_library.quiesce_daemon},
        {"MHD_is_feature_supported", (void **)&ms_library.is_feature_supported},
        {"MHD_get_connection_info", (void **)&ms_library.get_connection_info},
        {"MHD_lookup_connection_value", (void **)&ms_library.lookup},
        {"MHD_get_connection_values", (void **)&ms_library.get_values},
        {"MHD_create_response_from_buffer", (void **)&ms_library.response_from_buffer},
        {"MHD_create_response_from_fd_at_offset64", (void **)&ms_library.response_from_file},
        {"MHD_add_response_header", (void **)&ms_library.add_header},
        {"MHD_queue_response", (void **)&ms_library.queue_response},
        {"MHD_destroy_response", (void **)&ms_library.destroy_response},
        {"MHD_suspend_connection", (void **)&ms_library.suspend},
        {"MHD_resume_connection", (void **)&ms_library.resume},
    };
    for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
        *symbols[index].place = dlsym(handle, symbols[index].name);
        if (*symbols[index].place) continue;
        snprintf(load_error, sizeof load_error, "libmicrohttpd lacks %s", symbols[index].name);
        return -1;
    }
    return 0;
}

int ms_load(int needs_tls) {
    pthread_mutex_lock(&loading);
    int result = is_loaded ? 0 : -1;
    if (!is_loaded) {
        void *handle = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            result = fill(handle);
        } else {
            snprintf(load_error, sizeof load_error, "%s", dlerror());
        }
        is_loaded = result == 0;
    }
    if (result == 0 && needs_tls && ms_library.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        snprintf(load_error, sizeof load_error, "this libmicrohttpd was built without TLS");
        result = -1;
    }
    pthread_mutex_unlock(&loading);
    return result;
}

const char *ms_load_error(void) {
    return load_error;
}
