/* A keeper is a small process between a test and the server that it owns. It
 * is the server's parent, writes down what the server says, and outlives the
 * test by a moment: when the test has gone, in whatever way (exit, failed
 * assertion, signal, SIGKILL), it kills the server and removes its folder. And
 * if the keeper itself is killed, the server dies with it.
 *
 * Orders may come from the process that opened the keeper and from its
 * children: a server of an unchecked fixture can be paused, killed and
 * restarted by the forked tests. */
#ifndef TEST_KEEPER_H
#define TEST_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

/* How long a server may take until it is ready. */
#define KEEPER_START_MS 10000

struct keeper {
    int control;                /* where orders go */
    pid_t pid;
    pid_t opener;               /* who can reap it */
};

enum keeper_order {
    KEEPER_WHO,                 /* only asks for the state */
    KEEPER_START,               /* kills what runs; waits until it is ready */
    KEEPER_PAUSE,               /* SIGSTOP; waits until it has stopped */
    KEEPER_RESUME,              /* SIGCONT; waits until it goes on */
    KEEPER_KILL,                /* SIGKILL; waits until it is dead */
    KEEPER_QUIT                 /* keeper_close's */
};

enum keeper_result {
    KEEPER_DONE,
    KEEPER_MISSING,             /* START: there is no such program */
    KEEPER_DIED,                /* the server has ended; its log says why */
    KEEPER_LATE,                /* START: was not ready in time, was killed */
    KEEPER_LOST                 /* the keeper itself does not answer */
};

struct keeper_answer {
    enum keeper_result result;
    pid_t pid;                  /* of the server; 0: none runs */
};

/* keeper_open - starts a keeper, not yet a server.
 *   folder  is its own from now on: removed with all in it when it ends
 *   log     file for the server's stdout and stderr, made anew by each START
 *   argv    the server's command line, argv[0] looked for in PATH
 * All three are borrowed until keeper_close. false: errno says why.
 *
 * keeper_order - blocks until it is carried out. One thread at a time.
 * keeper_close - no server, no folder and no keeper after. */
bool keeper_open(struct keeper *k, const char *folder, const char *log,
                 char *const *argv);
struct keeper_answer keeper_order(struct keeper *k, enum keeper_order order);
void keeper_close(struct keeper *k);

#endif
