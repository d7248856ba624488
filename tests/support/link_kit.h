/* Link kit: one link in the loop of loop_kit.h, on demand with subscriptions on
 * top. A question is asked as text and answered as text:
 *
 *     prepare(peer_port(peer));
 *     options.silence_ms = 50;
 *     open_prepared();
 *     ck_assert_str_eq(ask("ECHO a"), "a");
 *     end_with_peer(peer);
 *
 * An answer is what the server says, a number in digits, "(error) ERR ..",
 * "(nil)", "(3 elements)"; without one it is "(unsent)" or "(unknown)". */
#ifndef TEST_LINK_KIT_H
#define TEST_LINK_KIT_H

#include <stdbool.h>
#include <stddef.h>

#include "net/link/pubsub.h"
#include "net/net.h"
#include "tests/support/loop_kit.h"
#include "tests/support/one_server.h"
#include "tests/support/peer.h"

extern struct hf_link *link_;
extern struct hf_link_options options;
extern struct hf_pubsub *pubsub;      /* on top of link_; NULL: none */

/* Under the lock: what the link told, + up, - down, and a > for each push. */
extern char changes[256];
extern char pushed[256];

/* prepare       - the options of the links to come: to that port of 127.0.0.1,
 *                 coming back at once. The test may change some.
 * open_prepared - a loop without a thread, and a link in it. open_with - by
 *                 that allocator, and maybe with a thread; `memory` is left
 *                 alone.
 * open_link     - prepare and open_prepared.
 * open_pubsub   - subscriptions on top of it.
 * free_link     - frees all three. close_link - and looks at `memory`.
 * end_with_peer - the script has come to its good end; frees all. */
void prepare(int port);
void open_prepared(void);
void open_with(const struct hf_mem *mem, bool thread);
void open_link(int port);
void open_pubsub(void);
void free_link(void);
void close_link(void);
void end_with_peer(struct peer *peer);

/* The state of the link now. Each call takes the loop's lock. */
void want(bool is_wanted);
struct hf_error error_now(void);
bool is_up(void);
bool is_down(void);
bool is_refused(void);
struct hf_link_stats stats_now(void);
int protocol_now(void);

struct ask {
    struct hf_request request;
    struct hf_waiter waiter;
    char text[256];             /* "": it has not ended */
};

/* submit - `words` have one space between. timeout_ms < 0: no deadline. Ends
 *          once, or the test fails. [locked]
 * start  - the same, without the lock; fails the test if it is not taken.
 * answer - waits for the end; lent as long as `a`.
 * ask    - start and answer. Any thread, but the text is lent until the next
 *          ask of any; a thread beside the test has a struct ask of its own.
 * settle - asks on a new connection, so that whatever the old one left is over
 *          (design 11).
 * ask_done - the end of a request, for a test that puts another in its
 * place. */
hf_status submit(struct ask *a, const char *words, int timeout_ms);
void start(struct ask *a, const char *words, int timeout_ms);
const char *answer(struct ask *a);
const char *ask_for(int timeout_ms, const char *words);
const char *ask(const char *words);
void settle(void);
void ask_done(struct hf_request *request, enum hf_outcome outcome,
              struct hf_resp_value reply);

/* Drives until the peer has executed so many commands. */
void drive_until_received(struct peer *peer, size_t count);

/* How many descriptors this process has open. */
int count_descriptors(void);

/* Writes `text` behind what stands in dst. */
void append(char *dst, size_t room, const char *text);

#endif
