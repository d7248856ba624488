/* The command line: options in tables, taken one at a time. */
/* Tests: tests/test_cli_options.c. */
#include "cli/base/options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/nearest.h"
#include "cli/base/report.h"
#include "cli/base/values.h"

/* ---- errors of usage ---- */

int cli_usage(const struct cli_args *args, const char *format, ...)
{
    char text[CLI_LINE_MAX];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list); /* may be cut */
    va_end(list);
    if (args->help_command)
        return cli_fail("%s; see '%s'", text, args->help_command);
    if (!args->command)
        return cli_fail("%s; see 'holdfast help'", text);
    return cli_fail("%s: %s; see 'holdfast help %s'", args->command->name, text,
                    args->command->name);
}

/* ---- options ---- */

static const struct cli_option *
find_by_letter(const struct cli_option *const *tables, char letter)
{
    for (; *tables; tables++)
        for (const struct cli_option *o = *tables; o->id; o++)
            if (o->letter && o->letter == letter)
                return o;
    return NULL;
}

static const struct cli_option *
find_by_name(const struct cli_option *const *tables, const char *name, size_t len)
{
    for (; *tables; tables++)
        for (const struct cli_option *o = *tables; o->id; o++)
            if (o->name && strlen(o->name) == len &&
                memcmp(o->name, name, len) == 0)
                return o;
    return NULL;
}

/* ---- abbreviations ---- */

/* The options that begin with the first `len` bytes of `name`. */
struct option_candidates {
    const struct cli_option *first_option; /* the first; NULL: there is none */
    bool is_ambiguous;                     /* options with other ids begin so, too */
    char names[200];                       /* all of them, for a message */
};

static void add_option_candidate(struct option_candidates *m, const struct cli_option *o)
{
    size_t len = strlen(m->names);

    m->is_ambiguous = m->is_ambiguous || (m->first_option && m->first_option->id != o->id);
    if (!m->first_option)
        m->first_option = o;
    (void)snprintf(m->names + len, sizeof m->names - len, "%s--%s", len ? ", " : "", o->name);
}

static struct option_candidates find_by_beginning(const struct cli_option *const *tables,
                                                  const char *name,
                                                  size_t len)
{
    struct option_candidates m = {0};

    for (; len > 0 && *tables; tables++)
        for (const struct cli_option *o = *tables; o->id; o++)
            if (o->name && strncmp(o->name, name, len) == 0)
                add_option_candidate(&m, o);
    return m;
}

/* Reports an unknown option, and the option that is probably meant. The first `len` bytes of
 * `word` are "--" and the unknown name. */
static int report_unknown_option(const struct cli_args *args,
                                 const struct cli_option *const *tables,
                                 const char *word, size_t len)
{
    struct cli_nearest nearest = {0};

    for (; *tables; tables++)
        for (const struct cli_option *o = *tables; o->id; o++)
            if (o->name)
                cli_nearest_try(&nearest, word + 2, len - 2, o->name);
    if (nearest.name)
        (void)cli_usage(args, "unknown option '%.*s'; did you mean '--%s'?", (int)len, word,
                        nearest.name);
    else
        (void)cli_usage(args, "unknown option '%.*s'", (int)len, word);
    return CLI_ARGS_BAD;
}

static int report_ambiguous_option(const struct cli_args *args,
                                   const struct option_candidates *meant,
                                   const char *word, size_t len)
{
    (void)cli_usage(args, "'%.*s' is the beginning of several options: %s", (int)len, word,
                    meant->names);
    return CLI_ARGS_BAD;
}

/* Takes the next word as the value of the option that was written as
 * `written`. */
static int take_value_from_next_word(struct cli_args *args, const struct cli_option *o,
                                     const char *written, char **value)
{
    if (!*args->next_word) {
        (void)cli_usage(args, "%s needs a value: %s", written, o->value_name);
        return CLI_ARGS_BAD;
    }
    *value = *args->next_word++;
    return o->id;
}

static int parse_next_letter(struct cli_args *args,
                             const struct cli_option *const *tables, char **value)
{
    char written[] = {'-', *args->letters_left++, '\0'};
    const struct cli_option *o = find_by_letter(tables, written[1]);

    if (!o) {
        (void)cli_usage(args, "unknown option '%s'", written);
        return CLI_ARGS_BAD;
    }
    if (!o->value_name)
        return o->id;
    if (*args->letters_left == '\0')
        return take_value_from_next_word(args, o, written, value);
    *value = args->letters_left;
    args->letters_left = NULL;
    return o->id;
}

static int parse_next_long_option(struct cli_args *args,
                                  const struct cli_option *const *tables, char **value)
{
    char *word = *args->next_word++;
    size_t len = strcspn(word, "=");
    const struct cli_option *o = find_by_name(tables, word + 2, len - 2);
    struct option_candidates meant;

    if (!o) {
        meant = find_by_beginning(tables, word + 2, len - 2);
        if (meant.is_ambiguous)
            return report_ambiguous_option(args, &meant, word, len);
        if (!(o = meant.first_option))
            return report_unknown_option(args, tables, word, len);
    }
    if (!o->value_name && word[len] == '=') {
        (void)cli_usage(args, "--%s takes no value", o->name);
        return CLI_ARGS_BAD;
    }
    if (!o->value_name)
        return o->id;
    if (word[len] == '\0')
        return take_value_from_next_word(args, o, word, value);
    *value = word + len + 1;
    return o->id;
}

int cli_args_next(struct cli_args *args,
                  const struct cli_option *const *tables, char **value)
{
    char *word;

    *value = NULL;
    if (args->letters_left && *args->letters_left)
        return parse_next_letter(args, tables, value);
    args->letters_left = NULL;
    word = *args->next_word;
    if (word && !args->has_only_words && strcmp(word, "--") == 0) {
        args->has_only_words = true;
        word = *++args->next_word;
    }
    if (!word)
        return CLI_ARGS_END;
    if (!args->has_only_words && strncmp(word, "--", 2) == 0)
        return parse_next_long_option(args, tables, value);
    args->next_word++;
    *value = word;
    if (args->has_only_words || word[0] != '-' || word[1] == '\0' ||
        (args->has_numbers && isdigit((unsigned char)word[1])))
        return CLI_ARGS_WORD;
    args->letters_left = word + 1;
    return parse_next_letter(args, tables, value);
}

/* ---- values ---- */

int cli_take_duration(const struct cli_args *args, const char *option,
                      const char *text, int64_t least_ms, int64_t *out_ms)
{
    int64_t ms;

    if (!cli_duration_parse(text, &ms))
        return cli_usage(args, "%s '%s': write " CLI_DURATION_FORM
                               ", at most ten years", option, text);
    if (ms < least_ms)
        return cli_usage(args, "%s '%s' is too short: at least %lld ms", option,
                         text, (long long)least_ms);
    *out_ms = ms;
    return CLI_CONTINUE;
}

int cli_take_number(const struct cli_args *args, const char *option,
                    const char *text, int least, int most, int *out)
{
    if (!cli_number_parse(text, least, most, out))
        return cli_usage(args, "%s '%s': write a number from %d to %d", option,
                         text, least, most);
    return CLI_CONTINUE;
}

int cli_take_signal(const struct cli_args *args, const char *option,
                    const char *text, int *out)
{
    if (!cli_signal_parse(text, out))
        return cli_usage(args, "%s '%s': write " CLI_SIGNAL_FORM, option, text);
    return CLI_CONTINUE;
}
