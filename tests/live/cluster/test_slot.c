/* Slots of random keys, as a real server has them (C1). */
#include <check.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "net/net.h"
#include "net/route/slot.h"
#include "tests/support/dice.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define KEYS 100000
#define KEY_MAX 80
#define PIPELINED 1000

/* Any bytes; in every other key a good chance of a hash tag. */
static size_t make_key(char key[KEY_MAX])
{
    bool has_braces = dice(2);
    size_t len = dice(KEY_MAX + 1);

    for (size_t i = 0; i < len; i++) {
        key[i] = (char)dice(256);
        if (has_braces && dice(8) == 0)
            key[i] = "{}"[dice(2)];
    }
    return len;
}

static void must_be_slot(redisContext *c, uint16_t ours)
{
    redisReply *reply = NULL;

    ck_assert_int_eq(redisGetReply(c, (void **)&reply), REDIS_OK);
    ck_assert_int_eq(reply->type, REDIS_REPLY_INTEGER);
    ck_assert_int_eq(reply->integer, ours);
    freeReplyObject(reply);
}

static void compare_batch(redisContext *c)
{
    uint16_t ours[PIPELINED];
    char key[KEY_MAX];

    for (int i = 0; i < PIPELINED; i++) {
        size_t len = make_key(key);

        ours[i] = hf_slot_of(key, len);
        (void)redisAppendCommand(c, "CLUSTER KEYSLOT %b", key, len);
    }
    for (int i = 0; i < PIPELINED; i++)
        must_be_slot(c, ours[i]);
}

START_TEST(random_keys_have_the_slot_of_cluster_keyslot)
{
    static const char *const args[] = {"--cluster-enabled", "yes", NULL};
    struct server *server = server_start(args);
    redisContext *c = server_connect(server);

    ck_assert_ptr_nonnull(c);
    for (int i = 0; i < KEYS; i += PIPELINED)
        compare_batch(c);
    redisFree(c);
    server_stop(server);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slot");
    TCase *c = tcase_create("slots");

    if (!server_is_installed()) {
        (void)puts("skipped: no server is installed");
        return 77;
    }
    tcase_set_timeout(c, 60);
    tcase_add_test(c, random_keys_have_the_slot_of_cluster_keyslot);
    suite_add_tcase(s, c);
    return suite_run(s);
}
