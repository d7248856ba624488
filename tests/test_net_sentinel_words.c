/* What sentinels say, and roles: good and malformed, in RESP2 and RESP3. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/route/sentinel_words.h"
#include "tests/support/reply.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static struct hf_error error;

/* ---- the master: S2 ---- */

static const struct {
    const char *notation;
    hf_status status;
    const char *text;           /* "host port", or of the error */
} masters[] = {
    {"['127.0.0.1' '6379']", HF_OK, "127.0.0.1 6379"},
    {"['::1' '65535']", HF_OK, "::1 65535"},
    {"['redis-0.example' '1']", HF_OK, "redis-0.example 1"},
    {"nil", HF_E_INVAL, "does not know this name"},
    {"!'ERR unknown command'", HF_E_SERVER, "BY-NAME: ERR unknown command"},
    {"+OK", HF_E_PROTOCOL, "not an array"},
    {"[]", HF_E_PROTOCOL, "no address"},
    {"['h']", HF_E_PROTOCOL, "no address"},
    {"['h' '1' '2']", HF_E_PROTOCOL, "no address"},
    {"['h' '0']", HF_E_PROTOCOL, "no address"},
    {"['h' '65536']", HF_E_PROTOCOL, "no address"},
    {"['h' '-1']", HF_E_PROTOCOL, "no address"},
    {"['h' '01']", HF_E_PROTOCOL, "no address"},
    {"['h' '']", HF_E_PROTOCOL, "no address"},
    {"['h' 1]", HF_E_PROTOCOL, "no address"},
    {"['' '1']", HF_E_PROTOCOL, "no address"},
    {"['?' '1']", HF_E_PROTOCOL, "no address"},
    {"[nil '1']", HF_E_PROTOCOL, "no address"},
    {"['[::1]' '1']", HF_E_PROTOCOL, "no address"},
    {"['a b' '1']", HF_E_PROTOCOL, "no address"},
    {"['h:1' '1']", HF_E_PROTOCOL, "no address"},
    {"[['h'] '1']", HF_E_PROTOCOL, "no address"},
    {"[!'h' '1']", HF_E_PROTOCOL, "no address"},
};

static void must_be_text(const struct hf_endpoint *a, const char *text)
{
    char got[HF_HOST_MAX + 10];

    (void)snprintf(got, sizeof got, "%s %u", a->host, (unsigned)a->port);
    ck_assert_str_eq(got, text);
}

/* Whatever is refused leaves this alone. */
static void must_be_untouched(const void *out, size_t size)
{
    const unsigned char *p = out;

    for (size_t i = 0; i < size; i++)
        ck_assert_uint_eq(p[i], 0x5a);
}

START_TEST(a_master_has_an_address)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        struct reply reply = reply_of(masters[_i].notation, protocol);
        struct hf_endpoint out;

        memset(&out, 0x5a, sizeof out);
        ck_assert_int_eq(hf_sentinel_master_read(&out, reply.value, &error),
                         masters[_i].status);
        if (masters[_i].status == HF_OK) {
            must_be_text(&out, masters[_i].text);
        } else {
            must_be_untouched(&out, sizeof out);
            ck_assert_int_eq(error.status, masters[_i].status);
            ck_assert_ptr_nonnull(strstr(error.text, masters[_i].text));
        }
        reply_fini(&reply);
    }
}
END_TEST

/* ---- the others: S14 ---- */

static const struct {
    const char *notation;
    hf_status status;
    int count;
    const char *last;
} lists[] = {
    {"[]", HF_OK, 0, NULL},
    {"[{'name' 'x' 'ip' '127.0.0.1' 'port' '26379' 'flags' 'sentinel'}]",
     HF_OK, 1, "127.0.0.1 26379"},
    {"[{'port' '1' 'later' [1 {2 3}] 'ip' 'h'} {'ip' '::1' 'port' '2'}]",
     HF_OK, 2, "::1 2"},
    {"[{'ip' 'h' 'port' '1'} {'ip' 'h' 'port' '2'} {'ip' 'h' 'port' '1'}]",
     HF_OK, 2, "h 2"},
    {"[{'ip' 'h' 'port' '1'} {'ip' 'i' 'port' '1'}]", HF_OK, 2, "i 1"},
    {"!'ERR No such master with that name'", HF_E_SERVER, 0, "No such master"},
    {"nil", HF_E_PROTOCOL, 0, "not an array"},
    {"'x'", HF_E_PROTOCOL, 0, "not an array"},
    {"[nil]", HF_E_PROTOCOL, 0, "no address"},
    {"['x']", HF_E_PROTOCOL, 0, "no address"},
    {"[{}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'ip' 'h'}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'port' '1'}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'ip' '' 'port' '1'}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'ip' 'h' 'port' '0'}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'ip' 'h' 'port' 1}]", HF_E_PROTOCOL, 0, "no address"},
    {"[{'ip' 'h' 'port' '1'} {'ip' 'h h' 'port' '1'}]", HF_E_PROTOCOL, 0,
     "no address"},
};

START_TEST(sentinels_have_addresses)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        struct reply reply = reply_of(lists[_i].notation, protocol);
        struct hf_sentinel_list out;

        memset(&out, 0x5a, sizeof out);
        ck_assert_int_eq(hf_sentinel_list_read(&out, reply.value, &error),
                         lists[_i].status);
        if (lists[_i].status == HF_OK) {
            ck_assert_int_eq(out.count, lists[_i].count);
            if (lists[_i].last)
                must_be_text(&out.sentinels[out.count - 1], lists[_i].last);
        } else {
            must_be_untouched(&out, sizeof out);
            ck_assert_ptr_nonnull(strstr(error.text, lists[_i].last));
        }
        reply_fini(&reply);
    }
}
END_TEST

static uint32_t count_of(int sentinels)
{
    struct hf_sentinel_list out;
    char *text = NULL;
    size_t len;
    FILE *notation = open_memstream(&text, &len);
    struct reply reply;

    (void)fputc('[', notation);
    for (int i = 1; i <= sentinels; i++)
        (void)fprintf(notation, "{'ip' 'h' 'port' '%d'}", i);
    (void)fputc(']', notation);
    (void)fclose(notation);
    reply = reply_of(text, 3);
    ck_assert_int_eq(hf_sentinel_list_read(&out, reply.value, &error), HF_OK);
    reply_fini(&reply);
    free(text);
    return out.count;
}

START_TEST(a_list_of_sentinels_is_bounded)
{
    ck_assert_uint_eq(count_of(HF_SENTINELS_MAX - 1), HF_SENTINELS_MAX - 1);
    ck_assert_uint_eq(count_of(HF_SENTINELS_MAX), HF_SENTINELS_MAX);
    ck_assert_uint_eq(count_of(HF_SENTINELS_MAX + 1), HF_SENTINELS_MAX);
    ck_assert_uint_eq(count_of(10000), HF_SENTINELS_MAX);
}
END_TEST

/* ---- roles: S3 ---- */

static const struct {
    const char *notation;
    hf_status status;
    int kind;
    uint32_t replicas;
    bool is_linked;
    const char *text;           /* of the master, or of the error */
} roles[] = {
    {"['master' 3129659 []]", HF_OK, HF_ROLE_MASTER, 0, false, NULL},
    {"['master' 3129659 [['127.0.0.1' '9001' '3129242']"
     " ['127.0.0.1' '9002' '3129543']]]",
     HF_OK, HF_ROLE_MASTER, 2, false, NULL},
    {"['slave' '127.0.0.1' 9000 'connected' 3167038]", HF_OK, HF_ROLE_REPLICA,
     0, true, "127.0.0.1 9000"},
    {"['slave' '::1' 65535 'connect' -1]", HF_OK, HF_ROLE_REPLICA, 0, false,
     "::1 65535"},
    {"['slave' 'h' 1 'sync' 0 'later']", HF_OK, HF_ROLE_REPLICA, 0, false,
     "h 1"},
    {"['sentinel' ['mymaster' 'other']]", HF_OK, HF_ROLE_SENTINEL, 0, false,
     NULL},
    {"!'NOPERM no'", HF_E_SERVER, 0, 0, false, "ROLE: NOPERM no"},
    {"nil", HF_E_PROTOCOL, 0, 0, false, "not an array"},
    {"+master", HF_E_PROTOCOL, 0, 0, false, "not an array"},
    {"[]", HF_E_PROTOCOL, 0, 0, false, "has no role"},
    {"[7]", HF_E_PROTOCOL, 0, 0, false, "has no role"},
    {"['handshake']", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['active-replica' '10.0.0.1' 6379 'connected' 0]", HF_E_PROTOCOL, 0, 0, false,
     "active-replica (KeyDB)"},
    {"['MASTER' 0 []]", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['maste' 0 []]", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['master']", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['master' 0 'x']", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['slave']", HF_E_PROTOCOL, 0, 0, false, "no role that is known"},
    {"['slave' 'h' 0 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' 'h' -1 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' 'h' 65536 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' 'h' '1' 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' '' 1 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' nil 1 'connected' 0]", HF_E_PROTOCOL, 0, 0, false, "known"},
    {"['slave' 'h' 1]", HF_E_PROTOCOL, 0, 0, false, "known"},
};

static void must_be_role(const struct hf_role *role, int i)
{
    ck_assert_int_eq(role->kind, roles[i].kind);
    ck_assert_uint_eq(role->connected_replicas, roles[i].replicas);
    ck_assert_int_eq(role->has_data_of_master, roles[i].is_linked);
    if (roles[i].text)
        must_be_text(&role->master, roles[i].text);
}

START_TEST(a_server_has_a_role)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        struct reply reply = reply_of(roles[_i].notation, protocol);
        struct hf_role out;

        memset(&out, 0x5a, sizeof out);
        ck_assert_int_eq(hf_role_read(&out, reply.value, &error),
                         roles[_i].status);
        if (roles[_i].status == HF_OK) {
            must_be_role(&out, _i);
        } else {
            must_be_untouched(&out, sizeof out);
            ck_assert_ptr_nonnull(strstr(error.text, roles[_i].text));
        }
        reply_fini(&reply);
    }
}
END_TEST

/* ---- +switch-master: S5 ---- */

static bool read_switch(struct hf_switch_master *out, const char *text,
                        size_t len)
{
    char *bytes = malloc(len ? len : 1); /* of its very size */
    bool is_one;

    memcpy(bytes, text, len);
    is_one = hf_switch_master_read(out, (struct hf_text){bytes, len});
    if (is_one)
        ck_assert_ptr_eq(out->master_name.ptr, bytes);
    free(bytes);
    return is_one;
}

START_TEST(a_switch_has_a_name_and_two_addresses)
{
    static const char text[] = "mymaster 127.0.0.1 6379 ::1 6380";
    struct hf_switch_master s;

    ck_assert(read_switch(&s, text, strlen(text)));
    ck_assert_uint_eq(s.master_name.len, strlen("mymaster"));
    must_be_text(&s.old_master, "127.0.0.1 6379");
    must_be_text(&s.new_master, "::1 6380");
    for (size_t len = 0; len < strlen("mymaster 127.0.0.1 6379 ::1 6"); len++)
        ck_assert(!read_switch(&s, text, len));
}
END_TEST

START_TEST(invalid_switch_message_is_refused)
{
    static const char *const none[] = {
        "", " ", "    ", "m", "m h 1 i", "m h 1 i 2 ", "m h 1 i 2 3",
        " h 1 i 2", "m  1 i 2", "m h  i 2", "m h 1  2", "m h 0 i 2",
        "m h 1 i 0", "m h 1 i 65536", "m h 1 i 2x", "m h 1 i +2",
        "m h 1 i/ 2", "m ? 1 i 2", "m h 1 ? 2", "m h 1  i 2",
    };
    struct hf_switch_master out;

    memset(&out, 0x5a, sizeof out);
    for (int i = 0; i < COUNT(none); i++)
        ck_assert_msg(!read_switch(&out, none[i], strlen(none[i])), "%s",
                      none[i]);
    must_be_untouched(&out, sizeof out);
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("net/sentinel_words");
    TCase *c = tcase_create("words");

    tcase_add_loop_test(c, a_master_has_an_address, 0, COUNT(masters));
    tcase_add_loop_test(c, sentinels_have_addresses, 0, COUNT(lists));
    tcase_add_test(c, a_list_of_sentinels_is_bounded);
    tcase_add_loop_test(c, a_server_has_a_role, 0, COUNT(roles));
    tcase_add_test(c, a_switch_has_a_name_and_two_addresses);
    tcase_add_test(c, invalid_switch_message_is_refused);
    suite_add_tcase(s, c);
    return suite_run(s);
}
