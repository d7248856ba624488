/* Decodes a stream of replies, and prints each when it is complete.
 *
 * The buffer contains the incomplete reply from its first byte on, and the bytes after it: at most
 * one slice more than the longest reply, and one more slice after an error. The tape is empty
 * before each reply. */
/* Tests: tests/test_tools_resp.c. */
#include "tools/resp/decode.h"

#include <string.h>

#include "net/base/mem.h"
#include "net/net.h"

/* Bytes that are decoded at once. */
#define SLICE (64u * 1024)

/* The first sizes of tape and buffer: enough for most replies. */
#define NODES_MIN 256

void cli_decoder_init(struct cli_decoder *d, int protocol, cli_print *print,
                      FILE *out)
{
    *d = (struct cli_decoder){.print = print, .out = out};
    hf_resp_init(&d->parser, &cli_resp_limits, protocol);
}

void cli_decoder_fini(struct cli_decoder *d)
{
    hf_mem_free(&hf_mem_libc, d->buf, d->room);
    hf_mem_free(&hf_mem_libc, d->tape.nodes,
                d->tape.room * sizeof *d->tape.nodes);
    d->buf = NULL;
    d->tape.nodes = NULL;
}

/* ---- feeding ---- */

static bool append(struct cli_decoder *d, const char *ptr, size_t len)
{
    if (!hf_mem_grow(&hf_mem_libc, &d->buf, &d->room, 1, d->len + len,
                     (size_t)cli_resp_limits.reply + 2 * SLICE))
        return false;
    memcpy(d->buf + d->len, ptr, len);
    d->len += (uint32_t)len;
    return true;
}

static hf_status grow_tape(struct cli_decoder *d)
{
    size_t want = d->tape.room ? (size_t)d->tape.room + 1 : NODES_MIN;

    if (want > CLI_NODES_MAX)
        return HF_E_LIMIT;
    return hf_mem_grow(&hf_mem_libc, &d->tape.nodes, &d->tape.room,
                       sizeof *d->tape.nodes, want, CLI_NODES_MAX)
               ? HF_OK
               : HF_E_NOMEM;
}

static hf_status take_reply(struct cli_decoder *d)
{
    struct cli_reply reply = {
        .buf = d->buf,
        .len = d->parser.pos,
        .begin = d->begin,
        .dropped = d->dropped,
        .nodes = d->tape.nodes,
        .count = d->tape.count,
    };

    d->print(d->out, &reply);
    d->tape.count = 0;
    d->begin = d->parser.pos;
    return HF_OK;
}

/* Decodes all whole replies. HF_RESP_MORE or an error. */
static hf_status parse(struct cli_decoder *d)
{
    hf_status status = HF_OK;

    while (status == HF_OK) {
        status = hf_resp_parse(&d->parser, d->buf, d->len, &d->tape);
        if (status == HF_OK)
            status = take_reply(d);
        else if (status == HF_RESP_ROOM)
            status = grow_tape(d);
    }
    return status;
}

static void drop(struct cli_decoder *d)
{
    size_t bytes;

    hf_resp_drop(&d->parser, &d->tape, &bytes);
    d->len -= (uint32_t)bytes;
    d->begin -= (uint32_t)bytes;
    d->dropped += bytes;
    memmove(d->buf, d->buf + bytes, d->len);
}

static hf_status take_slice(struct cli_decoder *d, const char *ptr, size_t len)
{
    hf_status status;

    if (!append(d, ptr, len))
        return HF_E_NOMEM;
    status = parse(d);
    if (status != HF_RESP_MORE)
        return status;
    if (d->begin > 0)
        drop(d);
    return HF_OK;
}

/* The place of the error in the buffer; or of the reply, if there is none. */
static size_t error_at(const struct cli_decoder *d)
{
    return d->parser.broken ? d->parser.error.offset : d->begin;
}

bool cli_decoder_has_seen_enough(const struct cli_decoder *d)
{
    return d->broken == HF_E_NOMEM ||
           (d->broken && d->len >= error_at(d) + CLI_FOUND_MAX);
}

hf_status cli_decoder_feed(struct cli_decoder *d, const char *ptr, size_t len)
{
    while (len > 0 && !cli_decoder_has_seen_enough(d)) {
        size_t slice = len < SLICE ? len : SLICE;

        if (!d->broken)
            d->broken = take_slice(d, ptr, slice);
        else if (!append(d, ptr, slice))
            d->broken = HF_E_NOMEM;
        ptr += slice;
        len -= slice;
    }
    return d->broken;
}

/* ---- the end ---- */

static const char *expected(const struct cli_decoder *d)
{
    switch (d->broken) {
    case HF_OK:
        return "the rest of a value";
    case HF_E_NOMEM:
        return "a reply for which there is memory";
    default:
        return d->parser.broken ? d->parser.error.expected
                                : "a reply of fewer values";
    }
}

hf_status cli_decoder_end(const struct cli_decoder *d,
                          struct cli_decode_error *error)
{
    size_t at = d->broken ? error_at(d) : d->len;
    size_t rest = d->len - at;

    if (!d->broken && d->len == d->begin)
        return HF_OK;
    *error = (struct cli_decode_error){
        .status = d->broken ? d->broken : HF_RESP_MORE,
        .offset = d->dropped + at,
        .reply_offset = d->dropped + d->begin,
        .expected = expected(d),
        .found = d->buf + at,
        .found_len = rest < CLI_FOUND_MAX ? rest : CLI_FOUND_MAX,
    };
    return error->status;
}
