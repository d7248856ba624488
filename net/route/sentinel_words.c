/* What sentinels say: addresses, as strict as everywhere; they decide where
 * passwords and locks are sent.
 *
 * Sources: redis.io "High availability with Redis Sentinel", ROLE. */
/* Tests: tests/test_net_sentinel_words.c, tests/live/sentinel/test_sentinel_words.c. */
#include "net/route/sentinel_words.h"

#include <string.h>

#include "net/base/error.h"

/* The status is a constant, so that the compiler knows which variables are set after
 * HF_OK. */
static hf_status fail_protocol(struct hf_error *err, const char *what)
{
    (void)hf_error_set(err, HF_E_PROTOCOL, "%s", what);
    return HF_E_PROTOCOL;
}

/* The reply is not an array. */
static hf_status fail_not_an_array(struct hf_error *err, struct hf_resp_value reply,
                                   const char *command)
{
    struct hf_text text;
    char quoted[256];

    if (hf_resp_error_is(reply, "ERR unknown command"))
        return hf_error_set(err, HF_E_SERVER,
                            "%s: ERR unknown command; is this a sentinel?",
                            command);
    if (hf_resp_is_error(reply) &&
        hf_resp_bytes(reply, &text.ptr, &text.len) == HF_OK)
        return hf_error_set(
            err, HF_E_SERVER, "%s: %s", command,
            hf_error_quote(quoted, sizeof quoted, text.ptr, text.len));
    return hf_error_set(err, HF_E_PROTOCOL, "%s: the reply is not an array",
                        command);
}

static bool get_text(struct hf_resp_value v, struct hf_text *out)
{
    return !hf_resp_is_error(v) &&
           hf_resp_bytes(v, &out->ptr, &out->len) == HF_OK;
}

static bool get_text_element(struct hf_resp_value v, size_t index,
                             struct hf_text *out)
{
    struct hf_resp_value element;

    return hf_resp_element(v, index, &element) == HF_OK &&
           get_text(element, out);
}

static bool get_text_member(struct hf_resp_value v, const char *key,
                            struct hf_text *out)
{
    struct hf_resp_value member;

    return hf_resp_map_get(v, key, strlen(key), &member) == HF_OK &&
           get_text(member, out);
}

/* ---- the master ---- */

hf_status hf_sentinel_master_read(struct hf_endpoint *out,
                                  struct hf_resp_value reply,
                                  struct hf_error *err)
{
    static const char command[] = "SENTINEL GET-MASTER-ADDR-BY-NAME";
    struct hf_text host, port;

    if (hf_resp_is_null(reply))
        return hf_error_set(err, HF_E_INVAL,
                            "the sentinel does not know this name");
    if (hf_resp_type(reply) != HF_RESP_ARRAY)
        return fail_not_an_array(err, reply, command);
    if (hf_resp_count(reply) != 2 || !get_text_element(reply, 0, &host) ||
        !get_text_element(reply, 1, &port) || !hf_endpoint_read(out, host, port))
        return fail_protocol(err, "SENTINEL GET-MASTER-ADDR-BY-NAME: the reply is no"
                           " address");
    return HF_OK;
}

/* ---- the others ---- */

static void add_to_sentinel_list(struct hf_sentinel_list *list, const struct hf_endpoint *a)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (hf_endpoint_is_equal(&list->sentinels[i], a))
            return;
    list->sentinels[list->count++] = *a;
}

hf_status hf_sentinel_list_read(struct hf_sentinel_list *out,
                                struct hf_resp_value reply,
                                struct hf_error *err)
{
    struct hf_sentinel_list list = {0};
    struct hf_resp_iter it = hf_resp_children(reply);
    struct hf_resp_value entry;

    if (hf_resp_type(reply) != HF_RESP_ARRAY)
        return fail_not_an_array(err, reply, "SENTINEL SENTINELS");
    while (list.count < HF_SENTINELS_MAX && hf_resp_next(&it, &entry)) {
        struct hf_text host, port;
        struct hf_endpoint a;

        if (!get_text_member(entry, "ip", &host) ||
            !get_text_member(entry, "port", &port) ||
            !hf_endpoint_read(&a, host, port))
            return fail_protocol(err, "SENTINEL SENTINELS: a sentinel has no address");
        add_to_sentinel_list(&list, &a);
    }
    *out = list; /* last: a failure leaves *out alone */
    return HF_OK;
}

/* ---- roles ---- */

/* Several such servers accept writes, so two owners could hold one lock. */
#define LINK_STATE_CONNECTED "ROLE: active-replica (KeyDB); give the address of only one server"

/* "master", offset, replicas. */
static bool read_master_role(struct hf_role *role, struct hf_resp_value reply)
{
    struct hf_resp_value replicas, offset;

    role->kind = HF_ROLE_MASTER;
    if (hf_resp_element(reply, 1, &offset) < 0 ||
        hf_resp_element(reply, 2, &replicas) < 0 ||
        hf_resp_type(replicas) != HF_RESP_ARRAY)
        return false;
    if (hf_resp_integer(offset, &role->offset) < 0)
        role->offset = 0;
    role->connected_replicas = (uint32_t)hf_resp_count(replicas);
    return true;
}

/* "slave", its master's host, port (a number), the link's state, offset. */
static bool read_replica_role(struct hf_role *role, struct hf_resp_value reply)
{
    struct hf_text host, state;
    char digits[HF_RESP_INTEGER_MAX];
    struct hf_resp_value port;
    int64_t number;
    size_t len;

    role->kind = HF_ROLE_REPLICA;
    if (!get_text_element(reply, 1, &host) ||
        hf_resp_element(reply, 2, &port) < 0 ||
        hf_resp_integer(port, &number) < 0 || !get_text_element(reply, 3, &state))
        return false;
    len = hf_resp_format_integer(digits, number);
    role->has_data_of_master = hf_text_is(state, "connected");
    return hf_endpoint_read(&role->master, host, (struct hf_text){digits, len});
}

hf_status hf_role_read(struct hf_role *out, struct hf_resp_value reply,
                       struct hf_error *err)
{
    struct hf_role role = {0};
    struct hf_text kind;
    bool is_good = false;

    if (hf_resp_type(reply) != HF_RESP_ARRAY)
        return fail_not_an_array(err, reply, "ROLE");
    if (!get_text_element(reply, 0, &kind))
        return fail_protocol(err, "ROLE: the reply has no role");
    if (hf_text_is(kind, "master"))
        is_good = read_master_role(&role, reply);
    if (hf_text_is(kind, "slave"))
        is_good = read_replica_role(&role, reply);
    if (hf_text_is(kind, "sentinel")) {
        role.kind = HF_ROLE_SENTINEL;
        is_good = true;
    }
    if (hf_text_is(kind, "active-replica"))
        return fail_protocol(err, LINK_STATE_CONNECTED);
    if (!is_good)
        return fail_protocol(err, "ROLE: the reply is no role that is known");
    *out = role; /* last: a failure leaves *out alone */
    return HF_OK;
}

/* ---- a master that changes ---- */

bool hf_switch_master_read(struct hf_switch_master *out, struct hf_text message)
{
    struct hf_text rest = message;
    struct hf_text words[4];
    struct hf_switch_master s;

    for (int i = 0; i < 4; i++)
        words[i] = hf_text_take_word(&rest);
    s.master_name = words[0];
    if (s.master_name.len == 0 || !hf_endpoint_read(&s.old_master, words[1], words[2]) ||
        !hf_endpoint_read(&s.new_master, words[3], rest)) /* nothing follows it */
        return false;
    *out = s; /* last: a failure leaves *out alone */
    return true;
}
