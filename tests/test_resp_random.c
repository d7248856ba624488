/* Random replies, whole and spoiled, against the twin: the same nodes, the same
 * verdict at the same byte, however they are cut. Seeds are fixed: a failure
 * comes again. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/dice.h"
#include "tests/support/resp_answers.h"
#include "tests/support/resp_twin.h"

#define SEEDS 400
#define SPOILED_EACH 8

static unsigned random_below(unsigned n)
{
    return (unsigned)dice(n);
}

/* ---- random replies ---- */

/* Any bytes but CR and LF; those too if `is_opaque`. */
static void put_bytes(FILE *out, unsigned len, bool is_opaque)
{
    while (len-- > 0) {
        int c = (int)random_below(random_below(2) ? 256 : 64);

        if (!is_opaque && (c == '\r' || c == '\n'))
            c = ' ';
        fputc(c, out);
    }
}

static void put_line(FILE *out, char type, unsigned len)
{
    fputc(type, out);
    put_bytes(out, len, false);
    fputs("\r\n", out);
}

static void put_string(FILE *out, char type, unsigned len)
{
    fprintf(out, "%c%u\r\n", type, len);
    put_bytes(out, len, true);
    fputs("\r\n", out);
}

static void put_verbatim(FILE *out)
{
    unsigned len = random_below(20);

    fprintf(out, "=%u\r\ntxt:", len + 4);
    put_bytes(out, len, true);
    fputs("\r\n", out);
}

static void put_chunks(FILE *out)
{
    fputs("$?\r\n", out);
    for (unsigned count = random_below(4); count > 0; count--)
        put_string(out, ';', 1 + random_below(9));
    fputs(";0\r\n", out);
}

static void put_integer(FILE *out)
{
    unsigned digits = 1 + random_below(18);

    fprintf(out, ":%s", &"-"[random_below(2)]);
    while (digits-- > 0)
        fputc('0' + (int)random_below(10), out);
    fputs("\r\n", out);
}

static void put_one_of(FILE *out, const char *const *texts, unsigned count)
{
    fprintf(out, "%s\r\n", texts[random_below(count)]);
}

static void put_scalar_3(FILE *out)
{
    static const char *const texts[] = {
        "_",    "#t",      "#f",         ",1.5",     ",-0",  ",inf",  ",nan",
        ",NAN", ",-nan",   ",nan(0x1)", "(-12", "(00000099", ",1.5e-30",
        ",12E5"};

    switch (random_below(6)) {
    case 0:
        put_string(out, '!', random_below(30));
        return;
    case 1:
        put_verbatim(out);
        return;
    case 2:
        put_chunks(out);
        return;
    }
    put_one_of(out, texts, sizeof texts / sizeof *texts);
}

static void put_scalar(FILE *out)
{
    static const char *const texts[] = {"$-1", "*-1",  "+OK", ":1",
                                        "$0\r\n", "*0", "+",   "-"};

    switch (random_below(6)) {
    case 0:
        put_line(out, '+', random_below(40));
        return;
    case 1:
        put_line(out, '-', random_below(40));
        return;
    case 2:
        put_integer(out);
        return;
    case 3:
        put_one_of(out, texts, sizeof texts / sizeof *texts);
        return;
    }
    put_string(out, '$', random_below(60));
}

static void put_value(FILE *out, int protocol, unsigned levels);

static void put_values(FILE *out, int protocol, unsigned levels,
                       unsigned count)
{
    while (count-- > 0)
        put_value(out, protocol, levels);
}

static void put_stream(FILE *out, char type, unsigned levels, unsigned count)
{
    fprintf(out, "%c?\r\n", type);
    put_values(out, 3, levels, count);
    fputs(".\r\n", out);
}

static void put_aggregate(FILE *out, int protocol, unsigned levels)
{
    char type = protocol == 2 ? '*' : "*~%>"[random_below(4)];
    unsigned count = random_below(6), each = type == '%' ? 2 : 1;

    if (protocol == 3 && type != '>' && random_below(4) == 0) {
        put_stream(out, type, levels - 1, count * each);
        return;
    }
    fprintf(out, "%c%u\r\n", type, count);
    put_values(out, protocol, levels - 1, count * each);
}

static void put_attribute(FILE *out, unsigned levels)
{
    unsigned count = random_below(3);

    fprintf(out, "|%u\r\n", count);
    put_values(out, 3, levels - 1, count * 2);
}

static void put_value(FILE *out, int protocol, unsigned levels)
{
    if (protocol == 3 && levels > 0 && random_below(8) == 0)
        put_attribute(out, levels);
    if (levels > 0 && random_below(3) == 0)
        put_aggregate(out, protocol, levels);
    else if (protocol == 3 && random_below(2))
        put_scalar_3(out);
    else
        put_scalar(out);
}

/* ---- spoiled ones ---- */

static void flip(struct input *in, char *bytes)
{
    bytes[random_below((unsigned)in->len)] ^= (char)(1 << random_below(8));
}

/* A piece is missing: what follows moves up. */
static void cut_out(struct input *in, char *bytes)
{
    size_t at = random_below((unsigned)in->len);
    size_t len = 1 + random_below((unsigned)(in->len - at));

    memmove(bytes + at, bytes + at + len, in->len - at - len);
    in->len -= len;
}

/* A length, a count or any other digit is one more than it was. */
static void count_up(struct input *in, char *bytes)
{
    size_t at = random_below((unsigned)in->len);

    while (at < in->len && (bytes[at] < '0' || bytes[at] > '8'))
        at++;
    if (at < in->len)
        bytes[at]++;
}

static void overwrite(struct input *in, char *bytes)
{
    static const char odd[] = "+-:$*_#,(!=~%>|;.?\r\n\r\n0";
    size_t at = random_below((unsigned)in->len);

    bytes[at] = odd[random_below(sizeof odd - 1)];
}

/* ---- the promises ---- */

/* However they are cut, the twin's verdict on the bytes is the parser's. Are
 * they whole replies, all of them? */
static bool check_all_ways(const struct input *in)
{
    const struct cuts ways[] = {
        {.piece = in->len + 1, .step = 50},
        {.piece = 1},
        {.piece = 1, .step = 3, .drops = true},
        {.piece = 1 + random_below(20), .step = 1, .drops = true},
        {.piece = 1 + random_below(300), .step = 9},
        {.piece = 2 + random_below(60), .uneven = true, .step = 2},
    };
    struct reading want = reading_of_twin(in);

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct reading got = reading_of_parser(in, &ways[i], resp_answers_all);

        reading_must_be(&got, &want);
        reading_fini(&got);
    }
    reading_fini(&want);
    return want.status == HF_RESP_MORE && want.end == in->len;
}

static struct hf_resp_limits random_limits(void)
{
    struct hf_resp_limits l = hf_resp_default_limits;

    if (random_below(2))
        l = (struct hf_resp_limits){random_below(5), random_below(40),
                                    random_below(60), random_below(8),
                                    random_below(400)};
    return l;
}

/* Replies as a server could send them are accepted to the last byte. */
START_TEST(random_replies_are_taken_as_the_twin_takes_them)
{
    struct input in = {.limits = hf_resp_default_limits,
                       .protocol = 2 + _i % 2};
    char *bytes;
    FILE *out = open_memstream(&bytes, &in.len);

    dice_seed = DICE_SEED + (unsigned)_i;
    put_values(out, in.protocol, 4, 6);
    fclose(out);
    in.bytes = bytes;
    ck_assert(check_all_ways(&in));
    in.strict = true;
    (void)check_all_ways(&in);
    free(bytes);
}
END_TEST

/* One byte changed, one digit off by one, one piece missing, limits of any
 * size: any verdict, but the twin's. */
START_TEST(spoiled_replies_are_judged_as_the_twin_judges_them)
{
    static void (*const spoil[])(struct input *, char *) = {flip, cut_out,
                                                            count_up,
                                                            overwrite};

    dice_seed = 1234567u + (unsigned)_i;
    for (int i = 0; i < SPOILED_EACH; i++) {
        struct input in = {.limits = random_limits(), .protocol = 2 + _i % 2,
                           .strict = random_below(2)};
        char *bytes;
        FILE *out = open_memstream(&bytes, &in.len);

        put_values(out, in.protocol, 4, 3);
        fclose(out);
        in.bytes = bytes;
        spoil[random_below(4)](&in, bytes);
        (void)check_all_ways(&in);
        free(bytes);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resp random");
    TCase *c = tcase_create("twin");
    SRunner *runner = srunner_create(s);
    int failed;

    tcase_add_loop_test(c, random_replies_are_taken_as_the_twin_takes_them, 0,
                        SEEDS);
    tcase_add_loop_test(c, spoiled_replies_are_judged_as_the_twin_judges_them,
                        0, SEEDS);
    suite_add_tcase(s, c);
    srunner_set_fork_status(runner, CK_NOFORK);   /* a crash is one, too */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
