/* The hash of tables: exactly SipHash-1-3, and so nobody who cannot see the key
 * makes a table slow. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/hash.h"
#include "net/base/random.h"
#include "net/loop/loop.h"
#include "net/net.h"
#include "tests/support/suite.h"

/* Python 3.11 hashes bytes by SipHash-1-3; with PYTHONHASHSEED=0 its key is 0. */
static const struct {
    const char *bytes;
    uint64_t hash;
} vectors[] = {
    {"a", UINT64_C(0x407448d2b89b1813)},
    {"ab", UINT64_C(0x555508cbc6add439)},
    {"abcdefg", UINT64_C(0x6db12aae9070f506)},
    {"abcdefgh", UINT64_C(0x3f7b849c0b8e35ea)},
    {"abcdefghi", UINT64_C(0xf89b34a3d11eb6e5)},
    {"order:42", UINT64_C(0xc95106ecd9212ace)},
    {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
     UINT64_C(0x1c308a9f11b6a742)},
};

START_TEST(it_is_siphash_1_3)
{
    struct hf_hash_key key = {0, 0};

    ck_assert_uint_eq(
        hf_hash(&key, vectors[_i].bytes, strlen(vectors[_i].bytes)),
        vectors[_i].hash);
}
END_TEST

/* The key of the reference implementation's vectors: bytes 0, 1, 2, .. 15; and so
 * are the messages. */
static const struct {
    size_t len;
    uint64_t hash;
} keyed[] = {
    {0, UINT64_C(0xabac0158050fc4dc)},  {1, UINT64_C(0xc9f49bf37d57ca93)},
    {7, UINT64_C(0xd3927d989bb11140)},  {8, UINT64_C(0x369095118d299a8e)},
    {15, UINT64_C(0xd320d86d2a519956)},
};

START_TEST(all_of_the_key_counts)
{
    struct hf_hash_key key = {UINT64_C(0x0706050403020100),
                              UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char bytes[15];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(hf_hash(&key, bytes, keyed[_i].len), keyed[_i].hash);
}
END_TEST

START_TEST(any_byte_counts)
{
    struct hf_hash_key key = {0, 0};
    unsigned char bytes[256];

    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(hf_hash(&key, bytes, sizeof bytes),
                      UINT64_C(0x31ae646afba70308));
}
END_TEST

/* FNV-1a, which is not keyed: whoever chooses names can have them collide. */
static uint32_t unkeyed(const char *name)
{
    uint32_t h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

#define BUCKETS 1024
#define NAMES 5000

START_TEST(names_that_were_made_to_collide_are_spread)
{
    static int counts[BUCKETS];
    struct hf_hash_key key;
    char name[32];
    int most = 0, found = 0;

    ck_assert(hf_random_bytes(&key, sizeof key));
    for (unsigned i = 0; found < NAMES; i++) {
        int *count;

        (void)snprintf(name, sizeof name, "user:%u", i);
        if (unkeyed(name) % BUCKETS != 0)
            continue;
        found++;
        count = &counts[hf_hash(&key, name, strlen(name)) % BUCKETS];
        most = ++*count > most ? *count : most;
    }
    ck_assert_int_lt(most, 40); /* five on average */
}
END_TEST

START_TEST(loops_have_keys_of_their_own)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
    struct hf_loop *a, *b;

    ck_assert_int_eq(hf_loop_new(&a, &options), HF_OK);
    ck_assert_int_eq(hf_loop_new(&b, &options), HF_OK);
    ck_assert_uint_ne(hf_loop_hash(a, "x", 1), hf_loop_hash(b, "x", 1));
    hf_loop_free(a);
    hf_loop_free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/hash");
    TCase *c = tcase_create("hash");

    tcase_add_loop_test(c, it_is_siphash_1_3, 0, ROWS(vectors));
    tcase_add_loop_test(c, all_of_the_key_counts, 0, ROWS(keyed));
    tcase_add_test(c, any_byte_counts);
    tcase_add_test(c, names_that_were_made_to_collide_are_spread);
    tcase_add_test(c, loops_have_keys_of_their_own);
    suite_add_tcase(s, c);
    return suite_run(s);
}
