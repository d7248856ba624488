/* Doubts a master that answers after a silence. Private to net/. [locked]
 *
 * A master that was stopped may have been replaced meanwhile. When it continues,
 * it executes what it finds in its sockets and answers, and the servers that name
 * the master may not know its successor yet: a sentinel learns of it from the next
 * INFO, a second later at most.
 *
 * DOUBT-1  A server is silent from when an unanswered command was sent to it until
 *          it answers one. (silence.c looks every 250 ms.) An error (BUSY) ends a
 *          silence that is shorter than options.doubt_ms.
 * DOUBT-2  The first answer, other than an error, after a silence of options.doubt_ms
 *          does not count: its outcome is unknown. Then the map is requested.
 * DOUBT-3  Sentinels: for DOUBT_MS the map is not known, commands wait, and the
 *          sentinels are asked again and again. If one names another master, that
 *          is the map; if they still name this one after DOUBT_MS, it is the master.
 * DOUBT-4  After that, no doubt begins for DOUBT_AGAIN_MS, so a server that is only
 *          slow is used. */
#ifndef HF_DOUBT_H
#define HF_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

struct hf_server;

/* hf_doubt_silent   - it has not answered since `since_ms`.
 * hf_doubt_answered - it answered a command. True: that does not count (DOUBT-2);
 *                     false: it does, also for switched.h.
 * hf_doubt_refused  - it answered a command by an error.
 * hf_doubt_is_on    - is it doubted now, or from now on? (DOUBT-3) */
void hf_doubt_silent(struct hf_server *server, int64_t since_ms);
bool hf_doubt_answered(struct hf_server *server);
void hf_doubt_refused(struct hf_server *server);
bool hf_doubt_is_on(struct hf_server *server);

#endif
