/* What labels.c (the keys) and labels_told.c (what is read) share. Private to these two. */
#ifndef SIM_LABELS_INNER_H
#define SIM_LABELS_INNER_H

#include "lock/record/label_request.h"
#include "tests/sim/labels.h"

#define WINDOW_MAX 128      /* ticks */

/* One client with a label, or without. */
struct labels_client {
    struct labels_client *next;
    int64_t program;
    char uuid[UUID_LEN + 1];
    char text[HF_LABEL_MAX + 1];            /* "": none */
    int64_t until_us[WINDOW_MAX];           /* when its locks end, at the last ticks; 0: none */
    uint64_t ticks;
    int64_t most_until_us;                  /* the latest of all times */
    int64_t busy_us;                        /* it last held or requested something */
    int64_t freed_us;                       /* one of its holds has ended */
    int64_t stored_us;                      /* until then its label was stored */
    int64_t ended_us;                       /* 0: it lives */
    int64_t owed_us;                        /* until then its locks have a label after its end */
    bool was_closed, left_holds;
};

struct labels {
    struct sim *sim;
    struct labels_client *clients;
    struct event tick;
    int64_t tick_us;
    int64_t opened, refused_sets;
    bool is_calm;               /* no fault but deaths */
    int64_t judged_from_us;     /* from then on LABELS-1 holds; INT64_MAX: never */
};

/* labels_client_of - returns the client of an owner; NULL: it is of no program.
 * labels_has       - returns whether this client has a label that it may store and read.
 * labels_stored_until_us - returns until when a master has its label; 0: it does not.
 * labels_slack_us  - returns how long it takes until a request is executed. */
struct labels_client *labels_client_of(const struct labels *l, const char *owner, size_t len);
bool labels_has(const struct labels *l, const struct labels_client *c);
int64_t labels_stored_until_us(const struct labels *l, const struct labels_client *c);
int64_t labels_slack_us(const struct labels *l);

#endif
