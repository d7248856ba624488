/* Doubts a master that replies after a silence. Private to net/. [locked]
 *
 * A master that was suspended may have been replaced meanwhile. When it continues, it
 * executes the commands in its socket buffers and replies. The servers that name the
 * master may not know its successor yet: a sentinel learns of it by its next INFO, within
 * a second.
 *
 * DOUBT-1  A silence begins when a command that has no reply yet was sent, and ends with
 *          the next reply to a command. (silence.c checks every 250 ms.) An error reply
 *          (BUSY) ends a silence only if it is shorter than options.doubt_ms.
 * DOUBT-2  The first reply, other than an error, after a silence of options.doubt_ms does
 *          not count: the outcome is unknown. Then the map is requested.
 * DOUBT-3  With sentinels, the map is unknown for DOUBT_MS, commands wait, and the
 *          sentinels are queried repeatedly. If one names another master, that one is
 *          used; if they still name this one after DOUBT_MS, it is used.
 * DOUBT-4  After that, no doubt begins for DOUBT_REPEAT_MS, so a server that is only
 *          slow is used.
 * DOUBT-5  Without sentinels (redis://a,b,c), a silence also ends when all hosts have replied with
 *          their roles, each to a query that was sent after the silence began and less than
 *          options.doubt_ms ago, and this server is the only master among them. */
#ifndef HF_DOUBT_H
#define HF_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

struct hf_server;

/* hf_doubt_silent   - the server has not replied since `since_ms`.
 * hf_doubt_answered - the server replied to a command. Returns true if the reply does not
 *                     count (DOUBT-2); otherwise it also counts for switched.h.
 * hf_doubt_refused  - the server replied to a command with an error.
 * hf_doubt_confirmed - all hosts were queried since `queried_ms`, and this server is the only
 *                     master (DOUBT-5).
 * hf_doubt_is_on    - returns whether the server is in doubt (DOUBT-3); may begin it. */
void hf_doubt_silent(struct hf_server *server, int64_t since_ms);
bool hf_doubt_answered(struct hf_server *server);
void hf_doubt_refused(struct hf_server *server);
void hf_doubt_confirmed(struct hf_server *server, int64_t queried_ms);
bool hf_doubt_is_on(struct hf_server *server);

#endif
