/* Names as Redisson spells them. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lock/script/names.h"
#include "net/route/slot.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define UUID "6e3814a1-e847-452b-a982-45baf93a1df2"

/* ---- channels: WIRE 2.2, 2.4 ---- */

#define NAME(text) text, sizeof text - 1
#define PREFIX "redisson_lock__channel"
#define CHANNEL PREFIX ":"

static const struct {
    const char *name;
    size_t len;
    const char *channel;
    size_t channel_len;
} channels[] = {
    {NAME("order:42"), NAME(CHANNEL "{order:42}")},
    {NAME("shop{eu}lock"), NAME(CHANNEL "shop{eu}lock")},
    {NAME("x"), NAME(CHANNEL "{x}")},
    {NAME(" "), NAME(CHANNEL "{ }")},
    {NAME("{"), NAME(CHANNEL "{")},
    {NAME("}"), NAME(CHANNEL "{}}")},
    {NAME("{}"), NAME(CHANNEL "{}")},
    {NAME("}{"), NAME(CHANNEL "}{")},
    {NAME("{}x"), NAME(CHANNEL "{}x")},
    {NAME("a{b"), NAME(CHANNEL "a{b")},
    {NAME("a}b"), NAME(CHANNEL "{a}b}")},
    {NAME("ends in {"), NAME(CHANNEL "ends in {")},
    {NAME("a\0b"), NAME(CHANNEL "{a\0b}")},
    {NAME("a\0{b"), NAME(CHANNEL "a\0{b")},
    {NAME("\r\n"), NAME(CHANNEL "{\r\n}")},
    {NAME("\xff\x7b"), NAME(CHANNEL "\xff\x7b")},
};

START_TEST(a_channel_has_braces_unless_the_name_has_one)
{
    size_t len = hf_prefixed_size(PREFIX, channels[_i].name, channels[_i].len);
    char *channel = calloc(1, len + 1);

    ck_assert_uint_eq(len, channels[_i].channel_len);
    channel[len] = '!'; /* not to be written */
    hf_prefixed_put(channel, PREFIX, channels[_i].name, channels[_i].len);
    ck_assert_mem_eq(channel, channels[_i].channel, len);
    ck_assert_int_eq(channel[len], '!');
    free(channel);
}
END_TEST

/* WIRE 2.2: behind the name, or before it. */
static const struct {
    const char *key, *name, *expected;
} keys[] = {
    {":timeout", "pool", "{pool}:timeout"},
    {":timeout", "shop{eu}pool", "shop{eu}pool:timeout"},
    {":timeout", "a}b", "{a}b}:timeout"},
    {"redisson_lock_queue", "pool", "redisson_lock_queue:{pool}"},
    {"redisson_lock_queue", "shop{eu}", "redisson_lock_queue:shop{eu}"},
};

START_TEST(a_further_key_comes_before_or_after_the_name)
{
    const char *name = keys[_i].name;
    size_t len = hf_key_size(keys[_i].key, name, strlen(name));
    char *key = calloc(1, len + 1);

    ck_assert_uint_eq(len, strlen(keys[_i].expected));
    hf_key_put(key, keys[_i].key, name, strlen(name));
    ck_assert_str_eq(key, keys[_i].expected);
    free(key);
}
END_TEST

/* A latch's: WIRE 17. */
START_TEST(a_channel_with_braces_of_its_own_has_them_always)
{
    const char *name = channels[_i].name;
    size_t name_len = channels[_i].len, len = hf_braced_size("p__", name_len);
    char *channel = calloc(1, len + 1);

    ck_assert_uint_eq(len, 3 + 1 + name_len + 1);
    channel[len] = '!'; /* not to be written */
    hf_braced_put(channel, "p__", name, name_len);
    ck_assert_mem_eq(channel, "p__{", 4);
    ck_assert_mem_eq(channel + 4, name, name_len);
    ck_assert_int_eq(channel[len - 1], '}');
    ck_assert_int_eq(channel[len], '!');
    free(channel);
}
END_TEST

START_TEST(a_channel_of_the_longest_name_fits)
{
    char *name = malloc(HF_LOCK_NAME_MAX);
    char *channel;
    size_t len;

    memset(name, 'n', HF_LOCK_NAME_MAX);
    len = hf_prefixed_size(PREFIX, name, HF_LOCK_NAME_MAX);
    ck_assert_uint_eq(len, strlen(CHANNEL) + HF_LOCK_NAME_MAX + 2);
    channel = malloc(len);
    hf_prefixed_put(channel, PREFIX, name, HF_LOCK_NAME_MAX);
    ck_assert_int_eq(channel[len - 1], '}');
    ck_assert_int_eq(channel[strlen(CHANNEL)], '{');
    free(channel);
    free(name);
}
END_TEST

/* ---- slots: WIRE 2.5 ---- */

/* In a cluster a lock and its channel are in one slot, or not: by Redisson's
 * rule of braces, which is not the server's of hash tags. docs/cluster.md says
 * what follows. */
static const struct {
    const char *name;
    size_t len;
    uint16_t slot;
    uint16_t channel_slot;
} slots[] = {
    {NAME("plain"), 7143, 7143},
    {NAME("order:42"), 8691, 8691},
    {NAME("a{b}c"), 3300, 3300},
    {NAME("{a}{b}"), 15495, 15495},
    {NAME("x}y{z}"), 8157, 8157},
    {NAME("a{b"), 13340, 3200},   /* a { that nothing closes */
    {NAME("{"), 4092, 7490},
    {NAME("}{"), 12793, 11266},
    {NAME("{}x"), 10595, 4607},   /* nothing between the first pair */
    {NAME("{}{a}"), 13650, 15195},
    {NAME("a}b"), 7866, 15495},   /* a } and no { */
    {NAME("}"), 12090, 346},
};

static char *make_channel(const char *name, size_t len, size_t *channel_len)
{
    char *channel = malloc(*channel_len = hf_prefixed_size(PREFIX, name, len));

    hf_prefixed_put(channel, PREFIX, name, len);
    return channel;
}

static uint16_t channel_slot(const char *name, size_t len)
{
    size_t channel_len;
    char *channel = make_channel(name, len, &channel_len);
    uint16_t slot = hf_slot_of(channel, channel_len);

    free(channel);
    return slot;
}

START_TEST(a_known_name_and_its_channel_have_their_slots)
{
    ck_assert_uint_eq(hf_slot_of(slots[_i].name, slots[_i].len),
                      slots[_i].slot);
    ck_assert_uint_eq(channel_slot(slots[_i].name, slots[_i].len),
                      slots[_i].channel_slot);
}
END_TEST

/* Names whose channel has a slot of its own are those that have a brace and no
 * hash tag: the first { is followed by } or by none, or there is only }. */
static bool is_odd(const char *name, size_t len)
{
    const char *open = memchr(name, '{', len);
    const char *close;

    if (!open)
        return memchr(name, '}', len) != NULL;
    close = memchr(open, '}', (size_t)(name + len - open));
    return !close || close == open + 1;
}

#define RANDOM_NAMES 100000
#define RANDOM_NAME_MAX 12

/* Each letter from a few, so that braces stand everywhere. */
static size_t random_name(char name[RANDOM_NAME_MAX])
{
    static const char letters[] = "{}ab:\xff";
    size_t len = 1 + dice(RANDOM_NAME_MAX);

    for (size_t i = 0; i < len; i++)
        name[i] = letters[dice(sizeof letters - 1)];
    return len;
}

/* Two slots are the same by chance once in 16384 times: a few of a hundred
 * thousand, and among the odd names alone. */
START_TEST(a_channel_has_a_slot_of_its_own_if_the_name_is_odd)
{
    char name[RANDOM_NAME_MAX];
    int odd = 0, by_chance = 0;

    for (int i = 0; i < RANDOM_NAMES; i++) {
        size_t len = random_name(name);
        bool is_same = hf_slot_of(name, len) == channel_slot(name, len);

        odd += is_odd(name, len);
        if (!is_odd(name, len))
            ck_assert_msg(is_same, "%.*s", (int)len, name);
        else
            by_chance += is_same;
    }
    ck_assert_int_gt(odd, RANDOM_NAMES / 10);
    ck_assert_int_lt(odd, RANDOM_NAMES * 9 / 10);
    ck_assert_int_lt(by_chance, 30);
}
END_TEST

/* ---- the UUID: WIRE 1 ---- */

static bool is_uuid_v4(const char *text)
{
    static const char shape[] = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";

    if (strlen(text) != UUID_LEN)
        return false;
    for (size_t i = 0; i < UUID_LEN; i++) {
        const char *allowed = shape[i] == 'x'   ? "0123456789abcdef"
                              : shape[i] == 'v' ? "89ab"
                                                : (char[]){shape[i], 0};

        if (!strchr(allowed, text[i]))
            return false;
    }
    return true;
}

START_TEST(a_uuid_is_of_version_4_in_lower_case)
{
    char uuid[UUID_LEN + 1];

    for (int i = 0; i < 1000; i++) {
        ck_assert(hf_uuid_make(uuid));
        if (!is_uuid_v4(uuid))
            ck_abort_msg("%s", uuid);
    }
}
END_TEST

START_TEST(no_two_uuids_are_alike)
{
    char uuid[100][UUID_LEN + 1];

    for (int i = 0; i < 100; i++) {
        ck_assert(hf_uuid_make(uuid[i]));
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(uuid[i], uuid[j]);
    }
}
END_TEST

/* ---- owners: WIRE 1; design 11 a ---- */

static const struct {
    int64_t owner;
    uint64_t serial;
    const char *suffix;
    const char *text;
} owners[] = {
    {1, 1, "", UUID ":10000000001"},
    {42, 7, "", UUID ":420000000007"},
    {0, 1, "", UUID ":00000000001"},
    {-1, 1, "", UUID ":-10000000001"},
    {INT64_MAX, 1, "", UUID ":92233720368547758070000000001"},
    {INT64_MIN, 1, "", UUID ":-92233720368547758080000000001"},
    {5, 9999999999, "", UUID ":59999999999"},
    {5, 10000000000, "", UUID ":50000000000"}, /* the serial number wraps */
    {5, 10000000001, "", UUID ":50000000001"},
    {5, UINT64_MAX, "", UUID ":53709551615"},
    {1, 1, ":write", UUID ":10000000001:write"},
    {INT64_MIN, 1, ":write",
     UUID ":-92233720368547758080000000001:write"}, /* the longest */
};

START_TEST(an_owner_field_is_uuid_owner_and_ten_digits)
{
    char text[HF_OWNER_TEXT_MAX];
    size_t len = hf_owner_format(text, UUID, owners[_i].owner,
                                 owners[_i].serial, owners[_i].suffix);

    ck_assert_str_eq(text, owners[_i].text);
    ck_assert_uint_eq(len, strlen(text));
    ck_assert_uint_lt(len, HF_OWNER_TEXT_MAX);
}
END_TEST

/* Digits of the one cannot be read as digits of the other. */
START_TEST(no_two_owners_or_holds_share_a_field)
{
    static const int64_t numbers[] = {0, 1, 10, 100, -1, -10, 11, 110};
    static const uint64_t serials[] = {1, 10, 100, 1000000000};
    char text[COUNT(numbers) * COUNT(serials)][HF_OWNER_TEXT_MAX];
    int n = 0;

    for (int i = 0; i < COUNT(numbers); i++)
        for (int j = 0; j < COUNT(serials); j++)
            (void)hf_owner_format(text[n++], UUID, numbers[i], serials[j],
                                  "");
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(text[i], text[j]);
}
END_TEST

static void *give_number(void *out)
{
    *(int64_t *)out = hf_owner_thread();
    return NULL;
}

/* The kernel gives a thread's number again; hf_owner_thread never does. Threads
 * that follow one another, and numbers for tasks in between. */
START_TEST(owner_number_is_used_once)
{
    int64_t last_thread = hf_owner_thread(), last_task = hf_owner_new();
    int64_t number, of_this_thread = last_thread;

    ck_assert_int_lt(last_thread, 0);
    ck_assert_int_lt(last_task, 0);
    for (int i = 0; i < 500; i++) {
        pthread_t thread;

        ck_assert_int_eq(pthread_create(&thread, NULL, give_number, &number), 0);
        (void)pthread_join(thread, NULL);
        ck_assert_int_lt(number, last_thread);
        ck_assert_int_ne(number % 2, 0);
        last_thread = number;
        number = hf_owner_new();
        ck_assert_int_lt(number, last_task);
        ck_assert_int_eq(number % 2, 0);
        last_task = number;
    }
    ck_assert_int_eq(hf_owner_thread(), of_this_thread);
}
END_TEST

/* By threads that run at the same time, too. */
#define AT_ONCE 8
#define EACH 2000

static void *give_many(void *out)
{
    int64_t *numbers = out;

    for (int i = 0; i < EACH; i++)
        numbers[i] = hf_owner_new();
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

START_TEST(owners_from_several_threads_are_different)
{
    static int64_t numbers[AT_ONCE * EACH];
    pthread_t threads[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, give_many,
                                        numbers + (size_t)i * EACH),
                         0);
    for (int i = 0; i < AT_ONCE; i++)
        (void)pthread_join(threads[i], NULL);
    qsort(numbers, COUNT(numbers), sizeof *numbers, by_value);
    for (int i = 1; i < COUNT(numbers); i++)
        ck_assert_int_ne(numbers[i - 1], numbers[i]);
}
END_TEST

/* ---- what stands in a lock's hash: WIRE 1, 12, 14, 18 ---- */

#define TX "0123456789abcdef0123456789ABCDEF"
#define HASH "abcdefghijABCDEFGHI09+"

static const struct {
    const char *field;
    size_t field_len;
    const char *value;
    enum hf_lock_kind kind;
} fields[] = {
    {NAME(UUID ":1"), "1", HF_KIND_PLAIN},
    {NAME(UUID ":-9223372036854775808"), "12", HF_KIND_PLAIN},
    {NAME(UUID ":1:write"), "1", HF_KIND_PLAIN},
    {NAME(UUID ":1:" TX), "1", HF_KIND_PLAIN},
    {NAME(UUID ":1:write:" TX), "1", HF_KIND_PLAIN},
    {NAME(UUID ":123456789012345678901234567890"), "1", HF_KIND_PLAIN},
    {NAME("6E3814A1-E847-452B-A982-45BAF93A1DF2:1"), "1", HF_KIND_PLAIN},
    {NAME("mode"), "read", HF_KIND_READ},
    {NAME("mode"), "write", HF_KIND_WRITE},
    {NAME(HASH), UUID ":1", HF_KIND_MULTI},
    {NAME(HASH ":" UUID ":1:lock_count"), "1", HF_KIND_MULTI},
    {NAME(HASH ":" UUID ":1:expire_time"), "1795214330870", HF_KIND_MULTI},
    {NAME(""), "0", HF_KIND_NONE},
    {NAME("visits"), "12", HF_KIND_NONE},
    {NAME("page:12"), "5", HF_KIND_NONE},
    {NAME("mode"), "dark", HF_KIND_NONE},
    {NAME("mode"), "1", HF_KIND_NONE},
    {NAME(UUID), "1", HF_KIND_NONE},
    {NAME(UUID ":"), "1", HF_KIND_NONE},
    {NAME(UUID ":-"), "1", HF_KIND_NONE},
    {NAME(UUID ":1x"), "1", HF_KIND_NONE},
    {NAME(UUID ":1\0"), "1", HF_KIND_NONE},
    {NAME(UUID ":1:"), "1", HF_KIND_NONE},
    {NAME(UUID ":1:reader"), "1", HF_KIND_NONE},
    {NAME(UUID ":1:" TX "0"), "1", HF_KIND_NONE},
    {NAME(UUID ":1:0123456789abcdef0123456789abcdeg"), "1", HF_KIND_NONE},
    {NAME(UUID ":1234567890123456789012345678901"), "1", HF_KIND_NONE},
    {NAME(UUID ":1"), "", HF_KIND_NONE},
    {NAME(UUID ":1"), "0", HF_KIND_NONE},
    {NAME(UUID ":1"), "-1", HF_KIND_NONE},
    {NAME(UUID ":1"), "-", HF_KIND_NONE},
    {NAME(UUID ":1"), "red", HF_KIND_NONE},
    {NAME("6e3814a1-e847-452b-a982_45baf93a1df2:1"), "1", HF_KIND_NONE},
    {NAME("6e3814g1-e847-452b-a982-45baf93a1df2:1"), "1", HF_KIND_NONE},
    {NAME("6e3814a1-e847-452b-a982a45baf93a1df2:1"), "1", HF_KIND_NONE},
    {NAME("6e3814-1-e847-452b-a982-45baf93a1df2:1"), "1", HF_KIND_NONE},
    {NAME(HASH), "1", HF_KIND_NONE},
    {NAME(HASH ":" UUID ":1:other"), "1", HF_KIND_NONE},
    {NAME(HASH "x:lock_count"), "1", HF_KIND_NONE},
};

START_TEST(a_hash_is_a_lock_only_with_a_locks_fields)
{
    const char *value = fields[_i].value;

    ck_assert_int_eq(hf_field_kind(fields[_i].field, fields[_i].field_len,
                                   value, strlen(value)),
                     fields[_i].kind);
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("lock/names");
    TCase *c = tcase_create("names");

    tcase_add_loop_test(c, a_channel_has_braces_unless_the_name_has_one, 0,
                        COUNT(channels));
    tcase_add_loop_test(c, a_channel_with_braces_of_its_own_has_them_always, 0,
                        COUNT(channels));
    tcase_add_loop_test(c, a_further_key_comes_before_or_after_the_name, 0,
                        COUNT(keys));
    tcase_add_test(c, a_channel_of_the_longest_name_fits);
    tcase_add_loop_test(c, a_known_name_and_its_channel_have_their_slots, 0,
                        COUNT(slots));
    tcase_add_test(c, a_channel_has_a_slot_of_its_own_if_the_name_is_odd);
    tcase_add_test(c, a_uuid_is_of_version_4_in_lower_case);
    tcase_add_test(c, no_two_uuids_are_alike);
    tcase_add_loop_test(c, an_owner_field_is_uuid_owner_and_ten_digits, 0,
                        COUNT(owners));
    tcase_add_test(c, no_two_owners_or_holds_share_a_field);
    tcase_add_test(c, owner_number_is_used_once);
    tcase_add_test(c, owners_from_several_threads_are_different);
    tcase_add_loop_test(c, a_hash_is_a_lock_only_with_a_locks_fields, 0,
                        COUNT(fields));
    suite_add_tcase(s, c);
    return suite_run(s);
}
