/* Slots of keys: the fixed ones, and random ones beside a CRC that is computed
 * bit by bit. What a real server says of them is in tests/live/cluster/test_slot.c. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"
#include "net/route/slot.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define KEY(text) text, sizeof text - 1

#define RANDOM_KEYS 100000
#define RANDOM_MAX 100

/* Keys whose slots are known. */
static const struct {
    const char *key;
    size_t len;
    uint16_t slot;
} fixed[] = {
    {KEY(""), 0},
    {KEY("foo"), 12182},
    {KEY("bar"), 5061},
    {KEY("123456789"), 12739},
    {KEY("user1000"), 3443},
    {KEY("{user1000}.following"), 3443},
    {KEY("{"), 4092},
    {KEY("}"), 12090},
    {KEY("\xff\xfe"), 3374},
    {KEY("myLock"), 12769},
    {KEY("redisson_lock__channel:{myLock}"), 12769},
    {KEY("{a}"), 15495},
    {KEY("{a}{b}"), 15495},
    {KEY("{}"), 15257},
    {KEY("{}foo"), 9500},
    {KEY("foo{}{bar}"), 8363},
    {KEY("foo{{bar}}zap"), 4015},
    {KEY("{bar"), 4015},
    {KEY("foo{bar}{zap}"), 5061},
    {KEY("a}b{c}"), 7365},
    {KEY("c"), 7365},
    {KEY("a{b"), 13340},
    {KEY("a}b"), 7866},
    {KEY("x{\0}y"), 0},
    {KEY("{a\r\n}"), 15181},
    {KEY("order:42"), 8691},
    {KEY("redisson_lock__channel:{order:42}"), 8691},
    {KEY("{order:42}:timeout"), 8691},
    {KEY("shop{eu}lock"), 6893},
    {KEY("redisson_lock__channel:a{b"), 3200},
    {KEY("redisson_lock__channel:{a}b}"), 15495},
    {KEY("redisson_countdownlatch__channel__{a{b}c}"), 13340},
    {KEY("x}y{z}"), 8157},
};

START_TEST(a_known_key_has_its_slot)
{
    ck_assert_uint_eq(hf_slot_of(fixed[_i].key, fixed[_i].len), fixed[_i].slot);
}
END_TEST

START_TEST(a_long_hash_tag_has_its_slot)
{
    char key[1000 + 3];

    memset(key, 'k', sizeof key);
    key[0] = '{';
    key[1001] = '}';
    key[1002] = 'z';
    ck_assert_uint_eq(hf_slot_of(key, sizeof key), 15858);
}
END_TEST

START_TEST(no_bytes_at_all_are_slot_0)
{
    ck_assert_uint_eq(hf_slot_of(NULL, 0), 0);
}
END_TEST

/* ---- beside a slower one ---- */

static uint16_t crc_by_bits(const unsigned char *p, size_t len)
{
    unsigned crc = 0;

    while (len-- > 0) {
        crc ^= (unsigned)*p++ << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
        crc &= 0xffff;
    }
    return (uint16_t)crc;
}

/* As CLUSTER "Hash tags" tells it. */
static uint16_t slot_by_bits(const unsigned char *key, size_t len)
{
    size_t open = 0, close;

    while (open < len && key[open] != '{')
        open++;
    for (close = open + 1; close < len && key[close] != '}';)
        close++;
    if (close < len && close > open + 1)
        return crc_by_bits(key + open + 1, close - open - 1) % 16384;
    return crc_by_bits(key, len) % 16384;
}

/* Each in a block of its very size: nothing behind it may be looked at. */
static void compare(const unsigned char *bytes, size_t len)
{
    unsigned char *key = malloc(len ? len : 1);

    memcpy(key, bytes, len);
    ck_assert_uint_eq(hf_slot_of(key, len), slot_by_bits(key, len));
    free(key);
}

/* Of two bytes, every one: all of the table is used, and each power of x. */
START_TEST(every_pair_of_bytes_at_every_place_has_its_slot)
{
    unsigned char key[16] = {0};

    for (size_t len = 2; len <= sizeof key; len++)
        for (unsigned pair = 0; pair < 65536; pair += len == 2 ? 1 : 251) {
            key[0] = (unsigned char)(pair >> 8);
            key[len - 1] = (unsigned char)pair;
            compare(key, len);
        }
}
END_TEST

START_TEST(random_bytes_have_the_slot_of_a_bitwise_crc)
{
    unsigned char key[RANDOM_MAX];

    for (int i = 0; i < RANDOM_KEYS; i++) {
        size_t len = dice(RANDOM_MAX + 1);

        for (size_t at = 0; at < len; at++)
            key[at] = (unsigned char)dice(256);
        compare(key, len);
    }
}
END_TEST

/* Of few letters, so that tags are everywhere. */
START_TEST(random_hash_tags_are_found)
{
    unsigned char key[RANDOM_MAX];

    for (int i = 0; i < RANDOM_KEYS; i++) {
        size_t len = dice(14);

        for (size_t at = 0; at < len; at++)
            key[at] = (unsigned char)"{}ab"[dice(4)];
        compare(key, len);
    }
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("net/slot");
    TCase *c = tcase_create("slots");

    tcase_add_loop_test(c, a_known_key_has_its_slot, 0, COUNT(fixed));
    tcase_add_test(c, a_long_hash_tag_has_its_slot);
    tcase_add_test(c, no_bytes_at_all_are_slot_0);
    tcase_add_test(c, every_pair_of_bytes_at_every_place_has_its_slot);
    tcase_add_test(c, random_bytes_have_the_slot_of_a_bitwise_crc);
    tcase_add_test(c, random_hash_tags_are_found);
    suite_add_tcase(s, c);
    return suite_run(s);
}
