/* Read-write locks beside Redisson's. */
#include "tests/redisson/both.h"
#include "tests/support/rw_steps.h"

/* ---- read-write locks, step by step ---- */

/* Our scripts play A, or B, or nobody: Redisson alone shows that the tables are
 * its contract, and not our idea of it. */
enum { OURS_IS_A, OURS_IS_B, NONE_IS_OURS, CASTS };

static const char *rw_act(struct rw_player *p, const char *verb, long lease_ms)
{
    const char *side = strstr(verb, "read") ? "read" : "write";
    const char *answer;

    if (*verb == 'f')
        answer = driver_ask(java, p->thread, "force-unlock %s %s", side, p->name);
    else if (*verb == 'u')
        answer = driver_ask(java, p->thread, "unlock %s %s", side, p->name);
    else
        answer = driver_ask(java, p->thread, "try %s %s %ld", side, p->name,
                            lease_ms);
    return strcmp(answer, "ok") == 0 || strcmp(answer, "true") == 0 ? "ok"
                                                                    : "no";
}

static struct rw_player rw_redisson(const char *name, int thread, char *owner)
{
    (void)strcpy(owner, driver_ask(java, thread, "owner"));
    return (struct rw_player){.owner = owner,
                              .is_redisson = true,
                              .times = 1,
                              .act = rw_act,
                              .server = server,
                              .name = name,
                              .thread = thread};
}

START_TEST(read_write_steps_leave_the_same_states)
{
    static const char ours[] = "6e3814a1-e847-452b-a982-45baf93a1df2:1";
    const struct rw_table *table = &rw_tables[_i / CASTS];
    char owners[2][64];
    struct rw_player players[2];

    for (int i = 0; i < 2; i++)
        players[i] = _i % CASTS == i
                         ? rw_player_scripts(server, "order:42", ours, 1)
                         : rw_redisson("order:42", i + 1, owners[i]);
    rw_play(table, players);
}
END_TEST

void add_read_write(TCase *tc)
{
    tcase_add_loop_test(tc, read_write_steps_leave_the_same_states, 0,
                        rw_tables_count * CASTS);
}
