#include "library.h"
#include "CCurlShim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct vc_library vc_library;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static int is_loaded;
static char load_error[256];

struct symbol {
    const char *name;
    void **place;
};

static int fill(void *handle) {
    const struct symbol symbols[] = {
        {"curl_global_init", (void **)&vc_library.global_init},
        {"curl_easy_init", (void **)&vc_library.easy_init},
        {"curl_easy_cleanup", (void **)&vc_library.easy_cleanup},
        {"curl_easy_setopt", (void **)&vc_library.easy_setopt},
        {"curl_easy_getinfo", (void **)&vc_library.easy_getinfo},
        {"curl_easy_pause", (void **)&vc_library.easy_pause},
        {"curl_easy_strerror", (void **)&vc_library.easy_strerror},
        {"curl_slist_append", (void **)&vc_library.slist_append},
        {"curl_slist_free_all", (void **)&vc_library.slist_free_all},
        {"curl_multi_init", (void **)&vc_library.multi_init},
        {"curl_multi_cleanup", (void **)&vc_library.multi_cleanup},
        {"curl_multi_setopt", (void **)&vc_library.multi_setopt},
        {"curl_multi_add_handle", (void **)&vc_library.multi_add_handle},
        {"curl_multi_remove_handle", (void **)&vc_library.multi_remove_handle},
        {"curl_multi_perform", (void **)&vc_library.multi_perform},
        {"curl_multi_poll", (void **)&vc_library.multi_poll},
        {"curl_multi_wakeup", (void **)&vc_library.multi_wakeup},
        {"curl_multi_info_read", (void **)&vc_library.multi_info_read},
    };
    for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
        *symbols[index].place = dlsym(handle, symbols[index].name);
        if (*symbols[index].place) continue;
        snprintf(load_error, sizeof load_error, "libcurl lacks %s", symbols[index].name);
        return -1;
    }
    if (vc_library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return 0;
    snprintf(load_error, sizeof load_error, "libcurl does not start");
    return -1;
}

int vc_load(void) {
    pthread_mutex_lock(&loading);
    if (!is_loaded) {
        // Not the GnuTLS flavour first: OpenSSL is in the process already.
        void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
        if (!handle) handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
        if (handle) {
            is_loaded = fill(handle) == 0;
        } else {
            snprintf(load_error, sizeof load_error, "%s", dlerror());
        }
    }
    int result = is_loaded ? 0 : -1;
    pthread_mutex_unlock(&loading);
    return result;
}

const char *vc_load_error(void) {
    return load_error;
}
