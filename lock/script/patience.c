/* Error replies: which of them are temporary, and what to do about them. Rules in
 * patience.h. */
/* Tests: tests/live/fault/test_lock_errors.c, tests/live/fault/test_refused.c. */
#include "lock/script/patience.h"
#include "net/route/refusal.h"

#define ADVICE_LACKS_RIGHTS                                                    \
    "the ACL of this user lacks a command, key or channel; 'holdfast doctor "  \
    "--acl' prints what plain locks need, and with --for what others do"

#define ADVICE_UNDECLARED                                                       \
    "this server refuses keys that a script derives, which this request "        \
    "needs; Dragonfly permits them with "                                       \
    "--default_lua_flags=allow-undeclared-keys"

#define ADVICE_BY_PROXY                                                         \
    "a proxy has no connection to the server; the server may have executed the "  \
    "request"

static const struct error_row {
    const char *error_code;
    enum hf_after_error action;
    const char *advice;
} rows[] = {
    {"LOADING", HF_AFTER_ERROR_REPEAT_REQUEST, "the server is loading its data"},
    {"BUSY", HF_AFTER_ERROR_REPEAT_REQUEST,
     "a script is running on the server (SCRIPT KILL ends it)"},
    {"TRYAGAIN", HF_AFTER_ERROR_REPEAT_REQUEST, NULL},
    {"CLUSTERDOWN", HF_AFTER_ERROR_REPEAT_REQUEST, "the cluster is down"},
    {"MASTERDOWN", HF_AFTER_ERROR_REPEAT_REQUEST, NULL},
    {"READONLY", HF_AFTER_ERROR_REPEAT_REQUEST,
     "this server is a replica; give the master's address, or those of the master and its "
     "replicas (redis://a,b)"},

    /* Envoy */
    {"no upstream host", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"upstream failure", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"upstream protocol error", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    /* twemproxy: the text of errno */
    {"ERR Connection refused", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Connection reset by peer", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Connection timed out", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Broken pipe", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Host is down", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR No route to host", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Network is unreachable", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    /* Predixy, which writes "avaliable" */
    {"ERR server connection close", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR no server avaliable", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR deliver request fail", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR no server connection avaliable", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR no server connection available", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    /* Codis */
    {"ERR handle response, backend conn", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR handle request, slot is not ready, may be offline", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY,
     ADVICE_BY_PROXY},
    /* redis-cluster-proxy; early versions do not name the node */
    {"ERR Cluster node disconnected:", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Cluster node disconnected", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Failed to connect to node", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Could not connect to node", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Failed to get node for query", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Failed to write to cluster", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Failed to read reply", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    /* Corvus */
    {"ERR Proxy error", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Proxy fail to forward command", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Proxy fail to get server", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Proxy redirecting error", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},
    {"ERR Proxy timed out", HF_AFTER_ERROR_REPEAT_LOST_BY_PROXY, ADVICE_BY_PROXY},

    {"OOM", HF_AFTER_ERROR_WAIT_GOES_ON, "the server is out of memory (maxmemory)"},
    {"NOREPLICAS", HF_AFTER_ERROR_WAIT_GOES_ON,
     "too few replicas are connected (min-replicas-to-write)"},
    {"MISCONF", HF_AFTER_ERROR_WAIT_GOES_ON, "the server cannot save to disk and refuses writes"},

    {"NOAUTH", HF_AFTER_ERROR_AWAIT_RIGHTS, "the server requires a password"},

    {"WRONGTYPE", HF_AFTER_ERROR_END_CALL,
     "the key is not a lock of this kind; use another name"},
    {"ERR value is not an integer", HF_AFTER_ERROR_END_CALL,
     "the key is not a number; use another name"},
    {"NOSCRIPT", HF_AFTER_ERROR_END_CALL,
     "this server cannot run Lua scripts"},
    {"ERR bad lua script for redis cluster,", HF_AFTER_ERROR_END_CALL,
     "this proxy checks the text of scripts (Alibaba Cloud: script_check_enable), and "
     "refuses this one"},
    {"ERR unknown command", HF_AFTER_ERROR_END_CALL,
     "locks need scripts, but EVAL is missing on this server, or was renamed"},
    {"CROSSSLOT", HF_AFTER_ERROR_END_CALL,
     "in a cluster this kind of lock cannot have that name; use a name without "
     "braces, or with a hash tag such as {this}"},
    {"MOVED", HF_AFTER_ERROR_END_CALL,
     "the cluster nodes disagree about the owner of this slot; use a redis+cluster:// "
     "URL for a cluster"},
};

static const struct error_row by_acl = {NULL, HF_AFTER_ERROR_AWAIT_RIGHTS, ADVICE_LACKS_RIGHTS};
static const struct error_row no_scripts = {
    NULL, HF_AFTER_ERROR_END_CALL,
    "locks need scripts, and this server or service does not permit EVAL"};
static const struct error_row undeclared = {NULL, HF_AFTER_ERROR_END_CALL, ADVICE_UNDECLARED};

static const struct error_row *row_of_reply(struct hf_resp_value reply)
{
    if (hf_refusal_is_by_acl(reply))
        return &by_acl;
    if (hf_refusal_is_undeclared(reply))
        return &undeclared;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hf_refusal_is(reply, rows[i].error_code))
            return &rows[i];
    return hf_refusal_is_of_eval(reply) ? &no_scripts : NULL;
}

enum hf_after_error hf_after_error_reply(struct hf_resp_value reply)
{
    const struct error_row *row = row_of_reply(reply);

    return row ? row->action : HF_AFTER_ERROR_END_CALL;
}

bool hf_error_needs_rights(hf_status status, struct hf_resp_value reply)
{
    return status == HF_E_AUTH || hf_after_error_reply(reply) == HF_AFTER_ERROR_AWAIT_RIGHTS;
}

const char *hf_advice_for_error(struct hf_resp_value reply)
{
    const struct error_row *row = row_of_reply(reply);

    return row ? row->advice : NULL;
}
