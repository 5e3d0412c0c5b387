#define _GNU_SOURCE
#include "CSystemShim.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static atomic_int pending;
static _Atomic int64_t last_interrupt_ms = INT64_MIN / 2;
static _Atomic int64_t first_termination_ms = INT64_MAX;

static struct termios saved_mode;
// The terminal whose echo is off, or -1. The handler reads saved_mode only while this is set.
static atomic_int hidden_terminal = -1;

static int64_t monotonic_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static atomic_int hangups;

static void count_hangup(int signal_number) {
    (void)signal_number;
    atomic_fetch_add(&hangups, 1);
}

static void note(int signal_number) {
    int saved = errno;
    int none = 0;
    atomic_compare_exchange_strong(&pending, &none, signal_number);
    // The prompt is interrupted by every signal: give the terminal back at once.
    vs_echo_restore();
    if (signal_number == SIGINT) {
        int64_t now = monotonic_ms();
        if (now - atomic_exchange(&last_interrupt_ms, now) <= 2000) _exit(130);
    }
    if (signal_number == SIGTERM) {
        // Some senders send it twice at once; whoever sends it again later has waited for nothing.
        int64_t now = monotonic_ms(), never = INT64_MAX;
        if (!atomic_compare_exchange_strong(&first_termination_ms, &never, now) && now - never >= 2000) _exit(143);
    }
    errno = saved;
}

void vs_signals_install(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    // A file that would grow beyond the limit of the process is an error of the write that says so (EFBIG).
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = note;
    // No SA_RESTART: a read from the terminal must end.
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

int vs_signals_pending(void) {
    return atomic_load_explicit(&pending, memory_order_relaxed);
}

void vs_signals_clear(void) {
    atomic_store(&pending, 0);
    atomic_store(&last_interrupt_ms, INT64_MIN / 2);
    atomic_store(&first_termination_ms, INT64_MAX);
}

int vs_echo_off(int terminal) {
    struct termios mode;
    if (tcgetattr(terminal, &mode) != 0) return -1;
    saved_mode = mode;
    atomic_store(&hidden_terminal, terminal);
    mode.c_lflag &= (tcflag_t)~ECHO;
    mode.c_lflag |= ECHONL;
    if (tcsetattr(terminal, TCSAFLUSH, &mode) == 0) return 0;
    int code = errno;
    vs_echo_restore();
    errno = code;
    return -1;
}

void vs_echo_restore(void) {
    int terminal = atomic_exchange(&hidden_terminal, -1);
    if (terminal >= 0) tcsetattr(terminal, TCSAFLUSH, &saved_mode);
}

void vs_signals_count_hangups(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = count_hangup;
    sigaction(SIGHUP, &action, NULL);
}

int vs_signals_hangups(void) {
    return atomic_load(&hangups);
}
