/* What `holdfast-resp` makes of a stream that comes in pieces. */
#ifndef FUZZ_TOOLS_OUTCOME_H
#define FUZZ_TOOLS_OUTCOME_H

#include <string.h>

#include "tools/resp/decode.h"
#include "tests/support/must.h"
#include "tests/support/resp_reading.h"

struct outcome {
    char *text;
    size_t len;
    hf_status status;
    struct cli_decode_error error;
    char found[CLI_FOUND_MAX];
};

/* A reply's buffer is at most doubled, and so is its tape: 16 bytes a node, a
 * node for each three bytes. */
static inline void must_follow(const struct cli_decoder *d, size_t size)
{
    must(d->room <= 2 * size + 1);
    must(d->tape.room <= 256 || d->tape.room <= 2 * (size / 3 + 1));
}

static inline void outcome_end(struct outcome *o, const struct cli_decoder *d,
                               size_t size)
{
    o->error = (struct cli_decode_error){.status = HF_OK};
    o->status = cli_decoder_end(d, &o->error);
    must(o->error.offset <= size && o->error.reply_offset <= o->error.offset);
    memset(o->found, 0, sizeof o->found);
    if (o->error.found_len > 0)
        memcpy(o->found, o->error.found, o->error.found_len);
    o->error.found = NULL;       /* lent until the decoder ends */
}

static inline struct outcome decode(const struct input *in, size_t piece,
                                    cli_print *print)
{
    struct outcome o;
    FILE *out = open_memstream(&o.text, &o.len);
    struct cli_decoder d;

    must(out != NULL);
    cli_decoder_init(&d, in->protocol, print, out);
    for (size_t i = 0; i < in->len; i += piece) {
        size_t rest = in->len - i;

        (void)cli_decoder_feed(&d, in->bytes + i, rest < piece ? rest : piece);
        must_follow(&d, in->len);
    }
    outcome_end(&o, &d, in->len);
    cli_decoder_fini(&d);
    (void)fclose(out);
    return o;
}

static inline void outcome_must_be(const struct outcome *got,
                                   const struct outcome *want)
{
    must(got->len == want->len && memcmp(got->text, want->text, got->len) == 0);
    must(got->status == want->status);
    must(got->error.status == want->error.status);
    must(got->error.offset == want->error.offset);
    must(got->error.reply_offset == want->error.reply_offset);
    must(got->error.expected == want->error.expected);   /* static text */
    must(memcmp(got->found, want->found, sizeof got->found) == 0);
}

#endif
