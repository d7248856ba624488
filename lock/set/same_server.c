/* Finds locks of several clients that are on one server. Addresses do not show this,
 * because a server has many (127.0.0.2, a Unix socket, a second name). */
/* Tests: tests/live/set/test_one_server.c, tests/sim/test_quorum.c. */
#include "lock/set/same_server.h"

#include <string.h>

#include "net/base/error.h"

/* False: it is not connected. */
static bool read_run_id_of_server(const struct hf_lock *lock, char *dst)
{
    struct hf_client *client = lock->client;
    bool is_connected;

    hf_loop_lock(client->loop);
    is_connected = hf_router_run_id(client->router, lock->slot, dst);
    hf_loop_unlock(client->loop);
    return is_connected;
}

static bool have_same_name(const struct hf_lock *a, const struct hf_lock *b)
{
    return a->name_len == b->name_len &&
           memcmp(a->texts, b->texts, a->name_len) == 0;
}

/* The earlier member that has the run_id of `member`; `member`: none. */
static uint32_t find_earlier_member_on_server(char (*run_ids)[HF_RUN_ID_MAX],
                                              struct hf_lock *const *locks, uint32_t member,
                                              bool by_name)
{
    uint32_t i = 0;

    while (i < member && (locks[i]->client == locks[member]->client ||
                          strcmp(run_ids[i], run_ids[member]) != 0 ||
                          (by_name && !have_same_name(locks[i], locks[member]))))
        i++;
    return i;
}

bool hf_same_server_find(struct hf_same_server *out, struct hf_lock *const *locks,
                         uint32_t count, bool by_name)
{
    char run_ids[HF_SAME_SERVER_MAX][HF_RUN_ID_MAX];

    for (uint32_t b = 0; b < count; b++) {
        (void)read_run_id_of_server(locks[b], run_ids[b]);
        out->second_member = b;
        if (run_ids[b][0] == '\0' ||
            (out->first_member = find_earlier_member_on_server(run_ids, locks, b, by_name)) == b)
            continue;
        memcpy(out->run_id, run_ids[b], HF_RUN_ID_MAX);
        return true;
    }
    return false;
}

uint32_t hf_same_server_find_unidentified(struct hf_lock *const *locks, uint32_t count)
{
    char run_id[HF_RUN_ID_MAX];
    uint32_t i = 0;

    while (i < count && (!read_run_id_of_server(locks[i], run_id) || run_id[0]))
        i++;
    return i;
}

bool hf_same_server_is_connected(const struct hf_lock *lock)
{
    char run_id[HF_RUN_ID_MAX];

    return read_run_id_of_server(lock, run_id);
}

hf_status hf_same_server_fail(struct hf_error *err,
                              const struct hf_same_server *found,
                              struct hf_lock *const *locks)
{
    return hf_error_set(err, HF_E_INVAL,
                        "two members are on one server: %s and %s (run_id %s); "
                        "allow_same_server permits that",
                        hf_client_address(locks[found->first_member]->client),
                        hf_client_address(locks[found->second_member]->client),
                        found->run_id);
}
