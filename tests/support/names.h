/* A resolver that does as it is told: in a program that this is linked to,
 * getaddrinfo answers for the names below, and asks the system for all others
 * (and for literals).
 *
 *     static const struct name names[] = {
 *         {"two.test", .addresses = "::1 127.0.0.1"},
 *         {"nobody.test", .error = EAI_NONAME},
 *     };
 *     names_are(names, 2);
 *
 * Threads: any, but names_are, which goes first. No lock is held for a name
 * that is not in the table: a forked child may ask for it. */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct name {
    const char *host;
    const char *addresses;     /* in that order, parted by spaces; "unix" is one
                                  of AF_UNIX */
    int error;                 /* getaddrinfo's; 0: the addresses */
    int system_error;          /* errno, with EAI_SYSTEM */
    bool is_slow;               /* hangs until names_open */
};

/* names_are           - the table is borrowed. None is, until then. Once.
 * names_open          - what is slow is answered, now and later.
 * names_await_hanging - until so many calls hang.
 * names_await_ended   - until so many threads that asked are over, and have
 *                       done all they do.
 * names_asked         - how often one of the names was.
 * names_were_signal_free - no thread that asked would have been sent SIGTERM,
 *                       SIGPIPE or SIGCHLD. */
void names_are(const struct name *names, size_t count);
void names_open(void);
void names_await_hanging(int count);
void names_await_ended(int count);
int names_asked(void);
bool names_were_signal_free(void);

#endif
