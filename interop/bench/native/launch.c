// launch REPORT COMMAND [ARGUMENT]...
//
// Runs one command and writes a line to REPORT: wall time in ns, user and system time in µs, peak memory in KB, status.
// A small program does this because a process begins with the peak memory of the one that started it.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    pid_t child;
    int status = 0;
    struct rusage used;
    long long start = now();
    int failed = posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
    if (failed) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(failed));
        return 127;
    }
    if (wait4(child, &status, 0, &used) != child) return 126;
    long long wall = now() - start;
    FILE *report = fopen(argv[1], "w");
    if (!report) return 125;
    fprintf(report, "%lld %lld %lld %ld %d\n", wall, used.ru_utime.tv_sec * 1000000LL + used.ru_utime.tv_usec,
            used.ru_stime.tv_sec * 1000000LL + used.ru_stime.tv_usec, used.ru_maxrss,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return fclose(report) ? 125 : 0;
}
