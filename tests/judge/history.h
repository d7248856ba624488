/* A history of a lock service, one event a line: what its clients asked, were
 * told and believed, and what its servers did. This file is the format, its
 * reader and its writer; judge.h says what makes a history wrong. Nothing here
 * knows any particular client or server.
 *
 *     # holdfast history 1
 *     # wake_ms 50
 *     1000000 c1 ask call=1 op=acquire lock=a kind=plain owner=c1:7
 *     1000200 s1 held lock=a kind=plain owner=c1:7 count=1 until=31000200 by=acquire
 *     1000400 c1 end call=1 status=HF_OK
 *     1000400 c1 safe lock=a kind=plain owner=c1:7 until=30698000
 *
 * Grammar
 *     history  = "# holdfast history 1" LF  *( header / comment / line )
 *     header   = "# " name " " ( number / properties ) LF              before the first line
 *     comment  = "#" anything LF  /  LF
 *     line     = time " " source " " event *( " " key "=" value ) LF
 *     time     = digits       true time in us, up to 2^53; never decreases. The order of the
 *                             lines is the order of the events
 *     source   = ("c" / "s" / "w") *digit     a client, a server, the world;
 *                             the number is below 65536
 *     value    = *( %x21-7E without "%" and "=" / %x80-FF / "%" 2hex )
 *   An event, a key or a word that is not in the tables below is ignored; the
 *   judge's program says so. A key that is there twice counts once, as the last
 *   one says.
 *
 * Headers: bounds, and what is judged
 *     wake_ms     the longest wait for a lock that a release has freed; P5 is
 *                 judged only where it is given
 *     look_ms     of one that was freed without a message (default: wake_ms)
 *     settle_ms   after a fault (default: look_ms)
 *     tell_ms     until an owner is told that the server forgot its hold; judged
 *                 only where it is given
 *     slack_ms    by how much times of servers and of callbacks may be off (0)
 *     ppm         the rates of clocks that are assumed (10000)
 *     cause_ms    how long a fault that has ended explains failures (default:
 *                 settle_ms). P12 needs this bound, or wake_ms: without both, only
 *                 its rules that accept no excuse are judged
 *     answer_ms   how long a call takes that no fault touches and that waits for
 *                 no other owner (1000)
 *     belief      the least part of a lease, in percent, that a belief covers after
 *                 the grant (50)
 *     passed      how many later calls may be granted a lock before a call that
 *                 waits for it (1000)
 *     repeat_ms   how long a client repeats a change of what is counted, from the
 *                 beginning of its call (default: without an end)
 *     judge       the only properties to judge, as digits: "17" is P1 and P7, and
 *                 P10 is 0. A number after P is one property: "1 P12" is P1 and P12
 *                 (default: all)
 *
 * Owners: `owner` is the holder, one text on clients' and servers' lines, unique
 * in the history ("c1:7"). The two sides of a read-write lock have the same one.
 * Where a service has a name for each single hold, `hold` is that name: on all
 * lines of it or on none; an `ask` that cannot know it leaves it to its `end`.
 *
 * Lines of clients
 *     start  [id=]           a process begins, or begins again: nothing is held,
 *                            believed or asked by it
 *     ask    call op lock kind owner [hold lease wait due n max_hold of]
 *                            due: when it must have ended, in true us. of: a set of
 *                            locks. If it is the name of the lock, or there is no lock,
 *                            the line is a call of the set. Otherwise it is the part of
 *                            such a call, or of a hold of the set, at this member, written
 *                            when it was observed. max_hold: the hold is lost after this
 *                            time, in ms. hold, of a forced release: only this hold.
 *                            op=renew: hold is the name of a hold that the client does
 *                            not have, and lease is for how long it shall last from now
 *                            op=extend: the same of the owner's own hold
 *                            op=close, op=free: its client ends; calls end, and holds
 *                            are lost
 *     cancel call            its caller cancels it
 *     end    call status [hold owner token master n until count]
 *                            of a call that was asked, once: else it is an error;
 *                            hold, owner: where the ask could not know them;
 *                            master: the number of the server that the client
 *                            now takes for the lock's; 0: it knows of none. Of an
 *                            inspection: hold, n, until: the holder that it reports,
 *                            with its count and end; n=0: the lock is free. Of a
 *                            semaphore or latch: n, the number; count=0: there is none,
 *                            count=1: there is one. op=available: n permits are available.
 *                            Of a call that sets a number: n, what it has set; n=0: there
 *                            was one. op=drain: n, what it took. op=delete: n=1: it
 *                            deleted the number; n=0: there was none. op=token: the
 *                            latest token
 *     safe   lock kind owner [hold] until
 *                            until then, in true us, it may believe that it holds;
 *                            0: it believes nothing. Written when that changes
 *     lost   lock kind owner [hold reason of]
 *                            the loss was reported to it. of: because another member of
 *                            this set was lost, or the max_hold of the set has passed
 *     count  lock kind owner [hold] n            how often it holds, says the client
 *     wait   call hold       the call waits in the server's queue, if it has one,
 *                            under this name from now on
 *     stop, go, died         suspended, continued; gone, with all that it believed
 *     clock  [ppm] [step]    its rate from now on; or a jump, in us
 *
 * Lines of servers: its own data, in its own order
 *     held   lock kind owner [hold] count until by [token]
 *                            a hold exists, or its count or end changed. until:
 *                            when others could have the lock, in true us, or never
 *     freed  lock kind owner [hold] why
 *                            also by a release of what it does not have, of a server
 *                            that has been replaced
 *     reset  lock            it forgot the lock's fencing tokens
 *     queued lock hold by    a fair lock's queue: a waiter is put at its end
 *     head   lock [hold until] by
 *                            and who is its first one now, and until when that is
 *                            honoured; without `hold`: nobody
 *     place  lock hold [may] after quiet: who is in it; may: why, if its client lives
 *     stock  lock by [n kind hold until]  how many permits there are, out or available, from now
 *                            on; without n: there is no such semaphore. While its
 *                            keys go to another server, one by one, each may have
 *                            a part. Of kind semaphore or latch: how many are
 *                            available, how far it is from 0; hold: the request
 *                            that has changed it; until: it expires then
 *     told   channel n       a message was published, n subscribers
 *     down, up               it does not serve; it serves
 *     master [instead]       it decides from now on, in place of that source; until
 *                            a line says otherwise each server is a master
 *     replica [instead]      it follows another; its holds decide nothing. instead, itself:
 *                            it begins anew with older data, which the next lines tell;
 *                            until "master" with instead, itself, what it had counts
 *     clock  [ppm] [step]
 *     key    name [type of may]
 *                            at the end: it is left. of: a lock that it is part of;
 *                            may: why it may stay
 *     A quorum has lines of its own, from a server number that no real server has. Its
 *     member on server N is the lock "name@sN".
 *
 * Lines of the world
 *     fault  what on [lock] [state]
 *                            on: sources, with commas, as "c1,s2". It touches the
 *                            clients named; if none is, all; "s1,nobody": none. With
 *                            `lock`: only that lock. Of the members of quorums it touches
 *                            those of the servers that are named; if none is ("all"), all.
 *                            state: begin, end or once (default)
 *     quiet                  all faults are over and nothing moves any more
 *     over                   the last line
 *
 * Statuses: OK and HF_OK say that it was done. HF_LOST, of a release: one less of
 * a hold that had been lost. HF_NOT_OWNER, HF_E_LIMIT, HF_E_FORKED, HF_E_CLOSED, HF_IN_USE:
 * nothing was done. UNREPLICATED_HELD: an acquire is held all the same. After any
 * other, an acquire is not held, and a release has given up one.
 *
 * Values: plain, nonreentrant, fenced and fair are one kind for all that is
 * judged, and so is a line without `kind`; read and write are the two sides of one
 * lock; as many owners hold a permit as `stock` says. A semaphore, a latch: nobody
 * holds it. To take `n` permits, or to await the latch, is an acquire; to add n, or
 * to count down by n, a release; op=add adds n to a semaphore that exists; op=reduce removes
 * n from one that exists, be they available or not (the `end` of both: count=0, there was none;
 * count=1, there was one); op=drain takes all that are available (its `stock` line is by=acquire);
 * a `wait` line names what the call asks the server. op=resize: permits, those in use included,
 * shall be n. Where enum names are listed below, those are the words of the format. */
#ifndef CHECK_HISTORY_H
#define CHECK_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_FIRST_LINE "# holdfast history 1"
#define HISTORY_LINE_MAX (64 * 1024)
/* A number of a line, except calls and tokens, is from -HISTORY_NUMBER_MAX to
 * HISTORY_NUMBER_MAX: 285 years in microseconds, so that sums of some hundred do not
 * overflow. A bound of a header, a
 * lease and a wait are cut off at HISTORY_BOUND_MAX: a year in milliseconds. */
#define HISTORY_NUMBER_MAX INT64_C(9007199254740992)
#define HISTORY_BOUND_MAX INT64_C(31622400000)
#define HISTORY_NONE INT64_MIN      /* a number that is not there */
#define HISTORY_NEVER INT64_MAX     /* until=never */

#define HISTORY_EVENTS(X)                                                     \
    X(START, "start") X(ASK, "ask") X(END, "end") X(SAFE, "safe")             \
    X(LOST, "lost") X(COUNT, "count") X(STOP, "stop") X(GO, "go")             \
    X(DIED, "died") X(CLOCK, "clock") X(HELD, "held") X(FREED, "freed")       \
    X(RESET, "reset") X(TOLD, "told") X(DOWN, "down") X(UP, "up")             \
    X(MASTER, "master") X(REPLICA, "replica") X(KEY, "key")                   \
    X(FAULT, "fault") X(QUIET, "quiet") X(OVER, "over")                       \
    X(WAIT, "wait") X(HEAD, "head") X(QUEUED, "queued") X(PLACE, "place")       \
    X(STOCK, "stock") X(CANCEL, "cancel")
#define HISTORY_KINDS(X)                                                      \
    X(KIND_PLAIN, "plain") X(KIND_NONREENTRANT, "nonreentrant")               \
    X(KIND_FENCED, "fenced") X(KIND_FAIR, "fair") X(KIND_READ, "read")        \
    X(KIND_WRITE, "write") X(KIND_PERMIT, "permit")                   \
    X(KIND_SEMAPHORE, "semaphore") X(KIND_LATCH, "latch")
#define HISTORY_OPS(X)                                                        \
    X(OP_ACQUIRE, "acquire") X(OP_RELEASE, "release") X(OP_FORCE, "force")    \
    X(OP_INSPECT, "inspect") X(OP_CLOSE, "close") X(OP_SET, "set")            \
    X(OP_FREE, "free") X(OP_RENEW, "renew") X(OP_REDUCE, "reduce")            \
    X(OP_DRAIN, "drain") X(OP_DELETE, "delete") X(OP_RESIZE, "resize")        \
    X(OP_AVAILABLE, "available") X(OP_TOKEN, "token") X(OP_ADD, "add")        \
    X(OP_EXTEND, "extend")
/* peer: another program; operator: by hand, past all locks; other: by the command
 * of another owner, whose hold is in the same record of the server. */
#define HISTORY_BYS(X)                                                        \
    X(BY_ACQUIRE, "acquire") X(BY_RENEW, "renew") X(BY_RELEASE, "release")    \
    X(BY_PEER, "peer") X(BY_REPLICATION, "replication")                       \
    X(BY_OPERATOR, "operator") X(BY_OTHER, "other") X(BY_SET, "set")          \
    X(BY_RESIZE, "resize") X(BY_DELETE, "delete")
/* forgot: a restart without data, a flush, a stale replica. */
#define HISTORY_WHYS(X)                                                       \
    X(WHY_RELEASED, "released") X(WHY_EXPIRED, "expired")                     \
    X(WHY_DELETED, "deleted") X(WHY_FORCED, "forced") X(WHY_FORGOT, "forgot")
#define HISTORY_STATES(X)                                                     \
    X(STATE_ONCE, "once") X(STATE_BEGIN, "begin") X(STATE_END, "end")

/* 0 is a word that is not there, or that this version does not know. */
#define HISTORY_ENUM(name, text) HISTORY_##name,
enum history_what { HISTORY_OTHER, HISTORY_EVENTS(HISTORY_ENUM) };
enum history_kind { HISTORY_NO_KIND, HISTORY_KINDS(HISTORY_ENUM) };
enum history_op { HISTORY_NO_OP, HISTORY_OPS(HISTORY_ENUM) };
enum history_by { HISTORY_NO_BY, HISTORY_BYS(HISTORY_ENUM) };
enum history_why { HISTORY_NO_WHY, HISTORY_WHYS(HISTORY_ENUM) };
enum history_state { HISTORY_NO_STATE, HISTORY_STATES(HISTORY_ENUM) };

/* Any bytes; at NULL: not there. */
struct history_text {
    const char *at;
    size_t len;
};

struct history_source {
    char role;                  /* 'c', 's', 'w'; 0: none */
    uint32_t number;
};

/* One line. Its texts belong to whoever filled it in. */
struct history_event {
    int64_t time_us;
    struct history_source source;
    enum history_what what;
    size_t line;                /* where it stands in its file; 0: unknown */
    struct history_text ignored; /* the line's first word that is in no table */

    struct history_text lock, owner, hold;
    struct history_text status, reason, id, channel, name, type, of, may;
    struct history_text fault, on;
    struct history_source instead;
    enum history_kind kind;
    enum history_op op;
    enum history_by by;
    enum history_why why;
    enum history_state state;
    int64_t call, lease_ms, wait_ms, due_us, until_us, count, n, token, master;
    int64_t max_hold_ms;
    int64_t ppm, step_us;
};

/* P1 to P12. */
#define HISTORY_PROPERTIES 12

struct history_header {
    int64_t wake_ms, look_ms, settle_ms, tell_ms, slack_ms, ppm;
    int64_t cause_ms, answer_ms, belief, passed, repeat_ms;
    uint32_t judged;            /* bit N: PN */
};

/* history_event - a line with nothing on it but these.
 * history_text  - a C string as a text. */
struct history_event history_event(int64_t time_us, char role, uint32_t number,
                                   enum history_what what);
struct history_text history_text(const char *string);

/* history_header_init - every default.
 * history_header_read - takes in one line that begins with '#'. */
void history_header_init(struct history_header *header);
void history_header_read(struct history_header *header, const char *line,
                         size_t len);

/* history_read - takes a line apart, which it writes into: the texts of `out`
 *   point there. The line has no LF; out->line is set to 0.
 * Returns NULL, or what is wrong with the line (static memory). */
const char *history_read(struct history_event *out, char *line, size_t len);

/* history_write - writes the event as a line, LF and NUL behind it.
 * Returns its length without the NUL, or 0 if `size` is too small. */
size_t history_write(const struct history_event *event, char *dst, size_t size);

#endif
