#define _GNU_SOURCE
#include "CMicrohttpdShim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int parse(const char *text, uint16_t port, struct sockaddr_storage *address, socklen_t *length) {
    memset(address, 0, sizeof *address);
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *length = sizeof *v4;
        return 0;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *length = sizeof *v6;
        return 0;
    }
    return EINVAL;
}

int ms_is_loopback(const char *text) {
    struct sockaddr_storage address;
    socklen_t length;
    if (parse(text, 0, &address, &length) != 0) return -1;
    if (address.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&address)->sin6_addr);
    return ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 == 127;
}

int ms_listen(const char *text, uint16_t port, int *out, uint16_t *bound) {
    struct sockaddr_storage address;
    socklen_t length;
    int code = parse(text, port, &address, &length);
    if (code != 0) return code;
    int descriptor = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return errno;
    int on = 1;
    // A port whose last connections still linger is free; one where somebody listens is not.
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // [::] means IPv6 only: an address stands for itself.
    if (address.ss_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(descriptor, (struct sockaddr *)&address, length) != 0 || listen(descriptor, 1024) != 0 ||
        getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) {
        code = errno;
        close(descriptor);
        return code;
    }
    *bound = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                 : ((struct sockaddr_in *)&address)->sin_port);
    *out = descriptor;
    return 0;
}
