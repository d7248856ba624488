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

static const struct patience_row {
    const char *error_code;
    enum hf_patience patience;
    const char *advice;
} rows[] = {
    {"LOADING", HF_PATIENCE_RETRIES, "the server is loading its data"},
    {"BUSY", HF_PATIENCE_RETRIES,
     "a script is running on the server (SCRIPT KILL ends it)"},
    {"TRYAGAIN", HF_PATIENCE_RETRIES, NULL},
    {"CLUSTERDOWN", HF_PATIENCE_RETRIES, "the cluster is down"},
    {"MASTERDOWN", HF_PATIENCE_RETRIES, NULL},
    {"READONLY", HF_PATIENCE_RETRIES,
     "this server is a replica; give the master's address, or those of the master and its "
     "replicas (redis://a,b)"},

    /* Envoy */
    {"no upstream host", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"upstream failure", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"upstream protocol error", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    /* twemproxy: the text of errno */
    {"ERR Connection refused", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Connection reset by peer", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Connection timed out", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Broken pipe", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Host is down", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR No route to host", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Network is unreachable", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    /* Predixy, which writes "avaliable" */
    {"ERR server connection close", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR no server avaliable", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR deliver request fail", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR no server connection avaliable", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR no server connection available", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    /* Codis */
    {"ERR handle response, backend conn", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR handle request, slot is not ready, may be offline", HF_PATIENCE_RETRIES_LOST,
     ADVICE_BY_PROXY},
    /* redis-cluster-proxy; early versions do not name the node */
    {"ERR Cluster node disconnected:", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Cluster node disconnected", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Failed to connect to node", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Could not connect to node", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Failed to get node for query", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Failed to write to cluster", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Failed to read reply", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    /* Corvus */
    {"ERR Proxy error", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Proxy fail to forward command", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Proxy fail to get server", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Proxy redirecting error", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},
    {"ERR Proxy timed out", HF_PATIENCE_RETRIES_LOST, ADVICE_BY_PROXY},

    {"OOM", HF_PATIENCE_WAITS, "the server is out of memory (maxmemory)"},
    {"NOREPLICAS", HF_PATIENCE_WAITS,
     "too few replicas are connected (min-replicas-to-write)"},
    {"MISCONF", HF_PATIENCE_WAITS, "the server cannot save to disk and refuses writes"},

    {"NOAUTH", HF_PATIENCE_AWAITS_RIGHTS, "the server requires a password"},

    {"WRONGTYPE", HF_PATIENCE_ENDS,
     "the key is not a lock of this kind; use another name"},
    {"ERR value is not an integer", HF_PATIENCE_ENDS,
     "the key is not a number; use another name"},
    {"NOSCRIPT", HF_PATIENCE_ENDS,
     "this server cannot run Lua scripts"},
    {"ERR bad lua script for redis cluster,", HF_PATIENCE_ENDS,
     "this proxy checks the text of scripts (Alibaba Cloud: script_check_enable), and "
     "refuses this one"},
    {"ERR unknown command", HF_PATIENCE_ENDS,
     "locks need scripts, but EVAL is missing on this server, or was renamed"},
    {"CROSSSLOT", HF_PATIENCE_ENDS,
     "in a cluster this kind of lock cannot have that name; use a name without "
     "braces, or with a hash tag such as {this}"},
    {"MOVED", HF_PATIENCE_ENDS,
     "the cluster nodes disagree about the owner of this slot; use a redis+cluster:// "
     "URL for a cluster"},
};

static const struct patience_row by_acl = {NULL, HF_PATIENCE_AWAITS_RIGHTS, ADVICE_LACKS_RIGHTS};
static const struct patience_row no_scripts = {
    NULL, HF_PATIENCE_ENDS, "locks need scripts, and this server or service does not permit EVAL"};
static const struct patience_row undeclared = {NULL, HF_PATIENCE_ENDS, ADVICE_UNDECLARED};

static const struct patience_row *patience_row_of_reply(struct hf_resp_value reply)
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

enum hf_patience hf_patience_after_reply(struct hf_resp_value reply)
{
    const struct patience_row *row = patience_row_of_reply(reply);

    return row ? row->patience : HF_PATIENCE_ENDS;
}

bool hf_patience_needs_rights(hf_status status, struct hf_resp_value reply)
{
    return status == HF_E_AUTH || hf_patience_after_reply(reply) == HF_PATIENCE_AWAITS_RIGHTS;
}

const char *hf_advice_for_error(struct hf_resp_value reply)
{
    const struct patience_row *row = patience_row_of_reply(reply);

    return row ? row->advice : NULL;
}
