/* Connection kit: the pure connection, whose link and server the test plays; no
 * socket, no clock.
 *
 * Requests have one-letter names, `ECHO a` on the wire; a capital one awaits a
 * push as its answer: S and T are `SUBSCRIBE ch`, U is `UNSUBSCRIBE ch`, V
 * `SSUBSCRIBE ch`, W `SUNSUBSCRIBE ch`, X `SUNSUBSCRIBE ch ch`. What happens is written down
 *     as text: a=1     `a` was answered with 1        a?   ended UNKNOWN
 *     >[x,y]  a push came                    a!   ended UNSENT
 *     >?      a push was too large
 *
 *     start();
 *     ask_all("ab");
 *     put_out_all();
 *     ck_assert_int_eq(take("+1\r\n"), HF_OK);
 *     ck_assert_str_eq(trace(), "a=1");
 *     teardown(); */
#ifndef TEST_CONN_KIT_H
#define TEST_CONN_KIT_H

#include <stdio.h>

#include "net/link/conn.h"
#include "tests/support/memory.h"
#include "tests/support/promise.h"

#define NAMES 4096                    /* requests of a test; letters are names */
#define WIRE_MAX (1 << 20)

extern struct conn_test {
    struct memory memory;
    struct hf_conn conn;
    struct hf_request requests[NAMES];
    int protocol;
    int64_t now_us;
    void (*on_done)(int name);        /* what an owner does when told */
    char wire[WIRE_MAX];              /* what this connection wrote */
    size_t wire_len;
    FILE *trace;
    char *story_text;
    size_t story_len;
} t;

/* defaults   - the options of a connection, which a test may change.
 * setup_with - a closed connection that is to speak that protocol; setup - with
 *              defaults, RESP3.
 * open_it    - with a handshake, by a server that answers everything. open_slowly - says
 *              how the handshake ended.
 * start      - setup and open_it.
 * close_it   - it ends, what waits is kept. teardown - it ends, and all with
 *              it; fails the test if a block of memory is left. */
struct hf_conn_options defaults(void);
void setup_with(struct hf_conn_options options, int protocol);
void setup(void);
hf_status open_slowly(void);
void open_it(void);
void start(void);
void close_it(void);
void teardown(void);

/* The rules of conn.h, the output and the counters hold: after each call. */
void check(void);

/* ask_for - `ECHO bytes`, or what the capital letter means; the name is an
 *           index into requests. ask - with its name as bytes. ask_all - each
 *           letter.
 * give_up - as hf_conn_cancel. */
hf_status ask_for(int name, const char *ptr, size_t len);
hf_status ask(int name);
void ask_all(const char *names);
enum hf_outcome give_up(int name);

/* take_in     - bytes come from the server, as many at once as there is room
 *               for. take - a text.
 * put_out     - the kernel takes at most n bytes of the output; returns how
 *             many.
 * wire        - the commands that it took, with bars between.
 * trace       - what has happened since the last time. */
hf_status take_in(const char *bytes, size_t len);
hf_status take(const char *text);
size_t put_out(size_t n);
void put_out_all(void);
const char *wire(void);
const char *trace(void);

/* A message of a channel, and a confirmation, in RESP3 and RESP2. */
#define MESSAGE ">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"
#define MESSAGE2 "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"
#define CONFIRM(verb) ">3\r\n" verb "\r\n$2\r\nch\r\n:1\r\n"
#define CONFIRM_OTHER(verb) ">3\r\n" verb "\r\n$3\r\ncho\r\n:1\r\n"
#define CONFIRM2(verb) "*3\r\n" verb "\r\n$2\r\nch\r\n:1\r\n"

#endif
