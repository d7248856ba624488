/* Which of a server's addresses is tried when; rules in race.h. */
/* Tests: tests/test_net_race.c. */
#include "net/wire/race.h"

#include <string.h>

#include "net/base/assert.h"

/* ---- the order (RACE-1) ---- */

static sa_family_t family_of_address(const struct hf_address *a)
{
    return a->storage.ss_family;
}

static bool is_same_address(const struct hf_address *a, const struct hf_address *b)
{
    return a->len == b->len && memcmp(&a->storage, &b->storage, a->len) == 0;
}

static unsigned find_address_to_start_with(const struct hf_race *race,
                                           const struct hf_addresses *in)
{
    unsigned relative = 0;

    for (unsigned i = in->count; i-- > 0;) {
        if (is_same_address(&in->list[i], &race->last_good_address))
            return i;
        if (family_of_address(&in->list[i]) == family_of_address(&race->last_good_address))
            relative = i;
    }
    return relative;
}

static unsigned find_other_family(const struct hf_addresses *in,
                                  sa_family_t last)
{
    for (unsigned i = 0; i < in->count; i++)
        if (family_of_address(&in->list[i]) != last)
            return i;
    return 0;
}

static void move_address(struct hf_addresses *to, struct hf_addresses *from, unsigned i)
{
    to->list[to->count++] = from->list[i];
    from->count--;
    memmove(&from->list[i], &from->list[i + 1],
            (from->count - i) * sizeof *from->list);
}

static void order_addresses(struct hf_race *race, struct hf_addresses left)
{
    struct hf_addresses *in_order = &race->addresses;
    unsigned i = find_address_to_start_with(race, &left);

    in_order->count = 0;
    while (left.count > 0) {
        move_address(in_order, &left, i);
        i = find_other_family(&left,
                              family_of_address(&in_order->list[in_order->count - 1]));
    }
}

/* ---- the race (RACE-2) ---- */

void hf_race_begin(struct hf_race *race, const struct hf_addresses *found,
                   int64_t now_ms)
{
    order_addresses(race, *found);
    race->first_index = race->tried_since_success;
    race->started_count = race->running_count = 0;
    race->next_start_ms = now_ms;
}

int hf_race_next(struct hf_race *race, int64_t now_ms)
{
    if (now_ms < hf_race_due_ms(race))
        return -1;
    race->tried_since_success++;
    race->running_count++;
    race->next_start_ms = now_ms + RACE_DELAY_MS;
    return (int)((race->first_index + race->started_count++) % race->addresses.count);
}

int64_t hf_race_due_ms(const struct hf_race *race)
{
    return race->started_count < race->addresses.count ? race->next_start_ms : HF_NEVER;
}

void hf_race_failed(struct hf_race *race, int64_t now_ms)
{
    HF_ASSERT(race->running_count > 0);
    race->running_count--;
    race->next_start_ms = now_ms;
}

bool hf_race_is_lost(const struct hf_race *race)
{
    return race->running_count == 0 && race->started_count == race->addresses.count;
}

/* ---- from race to race (RACE-3) ---- */

void hf_race_worked(struct hf_race *race, unsigned index)
{
    race->last_good_address = race->addresses.list[index];
    race->tried_since_success = 0;
}

void hf_race_avoid_favourite(struct hf_race *race)
{
    if (race->tried_since_success == 0)
        race->tried_since_success = 1;
}
