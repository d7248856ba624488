/* Several calls of one owner on one lock, in the simulated world: one of them is granted while
 * the request of another one has no reply. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/history_kit.h"
#include "tests/sim/plan.h"
#include "tests/support/suite.h"

#define REQUEST_MS 5000
#define FREED_MS 2045       /* the first holder's release is executed, and a message is sent */
#define PENDING_MS 2053     /* the waiter's request is under way; the other call is granted */
#define LATE_MS (PENDING_MS + REQUEST_MS)

static struct plan plan;

/* Program 0 holds the lock. In program 1 a call waits for it, and just when it is woken, another
 * call of the same owner is granted. The connection for requests dies then, and no other one can
 * be made until the waiter's request has failed; its subscription lives on. */
static void plan_calls(int64_t family)
{
    memset(&plan, 0, sizeof plan);
    plan.head = (struct plan_head){
        .seed = 1,
        .profile = PROFILE_WILD,
        .deployment = DEPLOY_STANDALONE,
        .version = 3,
        .protocol = 2,
        .masters = 1,
        .length_ms = 12000,
        .latency_us = 5000,
        .watchdog_ms = 30000,
        .request_ms = REQUEST_MS,
        .replicas_ms = 100,
    };
    plan.program_count = 2;
    plan.programs[0] = (struct plan_program){.offset_ms = 1000000};
    plan.programs[1] = (struct plan_program){.offset_ms = 2000000};
    plan.lock_count = 1;
    plan.locks[0] = (struct plan_lock){.family = family, .permits = 1};
    plan.op_count = 3;
    plan.ops[0] = (struct plan_op){.at_ms = 1000, .owner = 1, .hold_ms = 990};
    plan.ops[1] = (struct plan_op){.at_ms = 1500, .program = 1, .owner = 1,
                                   .wait_ms = LATE_MS + 600 - 1500, .hold_ms = 1000};
    plan.ops[2] = (struct plan_op){.at_ms = FREED_MS, .program = 1, .owner = 1, .hold_ms = -1};
    plan.fault_count = 2;
    plan.faults[0] = (struct plan_fault){.at_ms = PENDING_MS, .kind = FAULT_HALF_OPEN,
                                         .program = 1, .server = 0, .to_server = 1,
                                         .connection = 1, .n = 1, .for_ms = 1};
    plan.faults[1] = (struct plan_fault){.at_ms = PENDING_MS, .kind = FAULT_IGNORE,
                                         .program = 1, .for_ms = REQUEST_MS - 100};
}

/* The waiting call has no reply to its request, and enters its owner's hold. */
START_TEST(a_request_without_a_reply_becomes_a_reentry)
{
    char *text, *rest;
    struct history_event e;
    int64_t calls[3] = {0}, count = 0;
    hf_status ends[3] = {1, 1, 1};

    plan_calls(FAMILY_PLAIN);
    text = rest = history_of_plan(&plan);
    while (history_next(&rest, &e)) {
        if (e.what == HISTORY_ASK && e.op == HISTORY_OP_ACQUIRE && count < 3)
            calls[count++] = e.call;
        for (int i = 0; e.what == HISTORY_END && i < count; i++)
            if (calls[i] == e.call)
                ends[i] = e.status.len == 5 && memcmp(e.status.at, "HF_OK", 5) == 0 ? HF_OK
                                                                                  : HF_E_NOREPLY;
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ends[i], HF_OK);
    free(text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim: calls of one owner");
    TCase *c = tcase_create("beside each other");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_request_without_a_reply_becomes_a_reentry);
    suite_add_tcase(s, c);
    return suite_run(s);
}
