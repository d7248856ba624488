/* Any bytes as a stream of replies: what `holdfast resp` prints, and the error,
 * are the same however the bytes are cut; its JSON is JSON, in UTF-8; memory
 * follows the bytes. The first two bytes choose protocol and cuts. */
#include <stdlib.h>
#include <string.h>

#include "cli/resp_decode.h"
#include "cli/resp_utf8.h"
#include "tests/test_cli_resp_json.h"

/* What a stream came to. */
struct outcome {
    char *text;
    size_t len;
    hf_status status;
    struct cli_decode_error error;
    char found[CLI_FOUND_MAX];
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A reply's buffer is at most doubled, and so is its tape: 16 bytes a node, a
 * node for each three bytes. */
static void check_memory(const struct cli_decoder *d, size_t size)
{
    must(d->room <= 2 * size + 1);
    must(d->tape.room <= 256 || d->tape.room <= 2 * (size / 3 + 1));
}

static void decode(struct outcome *o, const uint8_t *data, size_t size,
                   size_t step, int protocol, cli_print *print)
{
    struct cli_decoder d;
    FILE *out = open_memstream(&o->text, &o->len);

    must(out);
    cli_decoder_init(&d, protocol, print, out);
    for (size_t i = 0; i < size; i += step)
        (void)cli_decoder_feed(&d, (const char *)data + i,
                               size - i < step ? size - i : step);
    check_memory(&d, size);
    o->error = (struct cli_decode_error){.status = HF_OK};
    o->status = cli_decoder_end(&d, &o->error);
    must(o->error.offset <= size && o->error.reply_offset <= o->error.offset);
    memset(o->found, 0, sizeof o->found);
    if (o->error.found_len > 0)
        memcpy(o->found, o->error.found, o->error.found_len);
    o->error.found = NULL;
    cli_decoder_fini(&d);
    (void)fclose(out);
}

static void must_be_same(const struct outcome *a, const struct outcome *b)
{
    must(a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
    must(a->status == b->status && a->error.status == b->error.status);
    must(a->error.offset == b->error.offset);
    must(a->error.reply_offset == b->error.reply_offset);
    must(a->error.expected == b->error.expected); /* static text */
    must(memcmp(a->found, b->found, sizeof a->found) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cli_print *const prints[] = {cli_print_text, cli_print_json};
    struct outcome whole, cut, bytes;

    if (size < 2)
        return 0;
    for (int i = 0; i < 2; i++) {
        int protocol = data[0] & 1 ? 2 : 3;
        size_t step = 1u + data[1];

        decode(&whole, data + 2, size - 2, size, protocol, prints[i]);
        decode(&cut, data + 2, size - 2, step, protocol, prints[i]);
        decode(&bytes, data + 2, size - 2, 1, protocol, prints[i]);
        must_be_same(&whole, &cut);
        must_be_same(&whole, &bytes);
        must(i == 0 || json_lines_ok(whole.text, whole.len));
        must(cli_utf8_ok(whole.text, whole.len));
        free(whole.text);
        free(cut.text);
        free(bytes.text);
    }
    return 0;
}
