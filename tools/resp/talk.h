/* A conversation with a server: a request, and all bytes that it causes. */
#ifndef TOOLS_RESP_TALK_H
#define TOOLS_RESP_TALK_H

#include "tools/resp/judge.h"
#include "net/net.h"
#include "net/wire/wire.h"

/* The greatest number of bytes that are kept: more than any check needs. */
#define CLI_WIRE_MAX (16u << 20)

/* The time for an answer, if the URL does not say. */
#define CLI_ANSWER_MS 10000

struct cli_talk {
    struct hf_wire *wire;       /* NULL: not open */
    int protocol;               /* 2 or 3: the protocol that was selected */
    int64_t id;                 /* of this connection; 0: not known */
    int64_t patience_ms;        /* for the next answer */
    size_t handed_out;          /* bytes of the last answer */
    uint64_t requests;
};

enum cli_how {
    CLI_TALK,                   /* a PING after it shows the end */
    CLI_TALK_CUT,               /* the same; its bytes are sent one by one */
    CLI_TALK_LAST               /* until the server closes the connection */
};

/* cli_talk_open - connects to `server`, borrowed until cli_talk_close; then sends HELLO 3 (or AUTH,
 *   for RESP2) and SELECT. `timeout_ms` is for each of these. Returns HF_OK; as hf_wire_open;
 *   HF_E_AUTH, HF_E_NOREPLY, HF_E_PROTOCOL; HF_E_SERVER: the server does not support RESP3.
 * cli_talk_open_bare - only connects.
 * cli_talk_close - closes it; also if it is closed already, or all zeros.
 *
 * cli_talk_exchange - sends `bytes` and collects the reply. out->bytes is valid until the next
 *   call. The talk stays open even if the reply is bad: later bytes may then belong to this
 *   request. */
hf_status cli_talk_open(struct cli_talk *t,
                        const struct hf_wire_options *server, int protocol,
                        int64_t timeout_ms, struct hf_error *err);
hf_status cli_talk_open_bare(struct cli_talk *t,
                             const struct hf_wire_options *server,
                             int64_t timeout_ms, struct hf_error *err);
void cli_talk_close(struct cli_talk *t);
void cli_talk_exchange(struct cli_talk *t, const char *bytes, size_t len,
                       enum cli_how how, struct cli_answer *out);

#endif
