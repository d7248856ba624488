/* A real server and a model of it, asked the same: whatever the two answer must
 * be equal. What fails aborts the running test, with the last commands. */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/model/model.h"

struct words {
    const char *p[64];
    size_t n[64];
    int count;
};

/* One connection to each. */
struct pair;

/* twins_start - the one server (one_server.h) and a model of its version; both
 * with the password, or NULL.
 * twins_are_alike - is there a model of the installed server's version? */
bool twins_are_alike(void);
void twins_start(const char *password);
void twins_stop(void);
struct model *twins_model(void);
enum model_version twins_version(void);

struct pair *pair_open(void);
void pair_close(struct pair *p);

/* pair_ask     - the same request to both; one reply each, which must be equal:
 *                type, text, order. Both have the same clock, which stands still
 *                while they answer.
 * pair_ask_any - the same, for an array whose order is nobody's business.
 * pair_ask_type - only the types must be equal (HELLO: ids, versions).
 * pair_send    - bytes as they are; then `replies` of each are compared. */
void pair_ask(struct pair *p, const struct words *w);
void pair_ask_any(struct pair *p, const struct words *w);
void pair_ask_type(struct pair *p, const struct words *w);
void pair_send(struct pair *p, const char *bytes, size_t len, int replies);

/* Both have closed the connection, or neither has. */
void pair_must_agree_on_end(struct pair *p);

/* The same, by words with one space between them. */
void ask(struct pair *p, const char *text);
void ask_type(struct pair *p, const char *text);

/* Has the real server run a script that does not end, and awaits that it says
 * BUSY. */
void server_run_for_ever(void);

/* Each key of both: type, value, time to live. */
void pair_compare_keys(struct pair *p);

/* The last reply, as text; lent until the next one. */
const char *pair_reply(const struct pair *p);

#endif
