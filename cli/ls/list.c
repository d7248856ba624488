/* The locks that were found, and how they are printed. */
/* Tests: tests/test_cli_ls.c. */
#include "cli/ls/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/report.h"
#include "cli/ls/array.h"
#include "cli/ls/terminal.h"
#include "net/base/error.h"

/* ---- gathering ---- */

hf_status ls_list_add(struct ls_list *list, const struct cli_lock *lock)
{
    struct cli_lock *locks = ls_array_grow(list->locks, list->locks_count, &list->locks_capacity,
                                           sizeof *locks);
    char *copy = malloc(lock->name_len);

    if (locks)
        list->locks = locks;
    if (!copy || !locks) {
        free(copy);
        return HF_E_NOMEM;
    }
    memcpy(copy, lock->name, lock->name_len);
    list->locks[list->locks_count] = *lock;
    list->locks[list->locks_count++].name = copy;
    return HF_OK;
}

hf_status ls_list_add_waiter(struct ls_list *list, const struct ls_waiter *waiter)
{
    struct ls_waiter *waiters = ls_array_grow(list->waiters, list->waiters_count,
                                              &list->waiters_capacity, sizeof *waiters);

    if (!waiters)
        return HF_E_NOMEM;
    list->waiters = waiters;
    list->waiters[list->waiters_count++] = *waiter;
    return HF_OK;
}

void ls_list_fini(struct ls_list *list)
{
    for (size_t i = 0; i < list->locks_count; i++)
        free((char *)list->locks[i].name);
    free(list->locks);
    free(list->waiters);
    *list = (struct ls_list){0};
}

/* ---- sorting ---- */

static int compare_names(const struct cli_lock *x, const struct cli_lock *y)
{
    int order = memcmp(x->name, y->name, x->name_len < y->name_len ? x->name_len : y->name_len);

    return order ? order : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

static int compare_locks(const void *a, const void *b)
{
    const struct cli_lock *x = a, *y = b;
    int order = compare_names(x, y);

    return order ? order : y->info.is_locked - x->info.is_locked;
}

void ls_list_sort(struct ls_list *list)
{
    size_t kept = 0;

    if (list->locks_count == 0)
        return;
    qsort(list->locks, list->locks_count, sizeof *list->locks, compare_locks);
    for (size_t i = 1; i < list->locks_count; i++) {
        if (compare_names(&list->locks[kept], &list->locks[i]) == 0)
            free((char *)list->locks[i].name);
        else
            list->locks[++kept] = list->locks[i];
    }
    list->locks_count = kept + 1;
}

static int compare_waiters(const void *a, const void *b)
{
    const struct ls_waiter *x = a, *y = b;

    if (x->lock_index != y->lock_index)
        return x->lock_index < y->lock_index ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void ls_list_sort_waiters(struct ls_list *list)
{
    if (list->waiters_count > 0)
        qsort(list->waiters, list->waiters_count, sizeof *list->waiters, compare_waiters);
}

static int compare_by_name(const void *a, const void *b)
{
    return compare_names(a, b);
}

const struct cli_lock *ls_list_find(const struct ls_list *list, const char *name,
                                    size_t len)
{
    const struct cli_lock key = {.name = name, .name_len = len};

    return list->locks_count ? bsearch(&key, list->locks, list->locks_count, sizeof key,
                                       compare_by_name)
                       : NULL;
}

/* ---- a line ---- */

enum { NAME, KIND, HOLDER, HOLDERS, COUNT, TTL, WAITERS, LEFT, LABEL, COLUMNS };

#define NUMBER_MAX 24   /* of a 64-bit number */

/* The texts of one lock, as they are printed. */
struct table_row {
    char *name;                 /* for free() */
    char holder_text[CLI_QUOTE_MAX];
    char holders_text[NUMBER_MAX], count_text[NUMBER_MAX], ttl_text[CLI_DURATION_TEXT_MAX];
    char waiters_text[NUMBER_MAX], left_text[NUMBER_MAX];
    const char *cells[COLUMNS];
};

/* What a longest escape of each byte needs, and hf_error_quote's dots. */
static char *quote_whole_name(const char *name, size_t len)
{
    size_t room = len * (sizeof "\\xHH" - 1) + sizeof "...";
    char *text = malloc(room);

    return text ? hf_error_quote(text, room, name, len) : NULL;
}

/* -2: a free lock, whose queue keeps places. */
static void fill_ttl_of_row(struct table_row *row, int64_t ttl_ms, enum ls_form form)
{
    if (form == LS_TABLE && ttl_ms == -2)
        (void)strcpy(row->ttl_text, "free");
    else if (form == LS_TABS)
        (void)snprintf(row->ttl_text, sizeof row->ttl_text, "%lld", (long long)ttl_ms);
    else if (ttl_ms < 0)
        (void)strcpy(row->ttl_text, "none");
    else
        (void)cli_duration_text(row->ttl_text, ttl_ms);
}

/* A number that this kind has; else "-". */
static const char *number_or_dash(char text[NUMBER_MAX], bool has_it, int64_t n)
{
    (void)snprintf(text, NUMBER_MAX, "%lld", (long long)n);
    return has_it ? text : "-";
}

/* A multi-lock counts each value; a permit is had once. */
static bool has_hold_count(const struct hf_lock_info *info)
{
    return info->kind != HF_KIND_MULTI && info->kind != HF_KIND_PERMIT;
}

static void fill_numbers_of_row(struct table_row *row, const struct cli_lock *lock)
{
    const struct hf_lock_info *info = &lock->info;
    bool is_counter = cli_lock_is_counter(info);
    bool is_free = !info->is_locked && !is_counter;

    row->cells[HOLDERS] =
        number_or_dash(row->holders_text, info->is_locked, info->holders);
    row->cells[COUNT] =
        number_or_dash(row->count_text, has_hold_count(info) && !is_free, info->hold_count);
    row->cells[WAITERS] =
        number_or_dash(row->waiters_text, lock->knows_listeners || info->waiters > 0,
                       info->waiters > 0 ? info->waiters : lock->listeners);
    row->cells[LEFT] =
        number_or_dash(row->left_text, is_counter || lock->knows_available,
                       is_counter ? info->hold_count : lock->available);
}

static bool fill_row(struct table_row *row, const struct cli_lock *lock,
                     enum ls_form form)
{
    const struct hf_lock_info *info = &lock->info;

    row->name = quote_whole_name(lock->name, lock->name_len);
    (void)cli_quote(row->holder_text, info->holder, info->holder_len);
    fill_ttl_of_row(row, info->ttl_ms, form);
    fill_numbers_of_row(row, lock);
    row->cells[NAME] = row->name;
    row->cells[KIND] = cli_lock_word(info);
    row->cells[HOLDER] = info->holder_len > 0 ? row->holder_text : "-";
    row->cells[TTL] = row->ttl_text;
    row->cells[LABEL] = lock->label[0] ? lock->label : "-";
    return row->name != NULL;
}

/* ---- all ---- */

/* Characters: in UTF-8 each has one byte that is not 10xxxxxx. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void widen_columns(size_t widths[COLUMNS], const char *const cells[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        if (text_width(cells[i]) > widths[i])
            widths[i] = text_width(cells[i]);
}

/* Which columns are printed, and how wide; without widths, tabs separate them. */
struct table_layout {
    bool has_column[COLUMNS];
    size_t widths[COLUMNS];
    bool has_widths;
    bool has_colours;
};

static int last_column(const struct table_layout *l)
{
    int last = COLUMNS - 1;

    while (last > 0 && !l->has_column[last])
        last--;
    return last;
}

static void print_cells(const char *const cells[COLUMNS], const struct table_layout *l)
{
    int last = last_column(l);

    for (int i = 0; i <= last; i++) {
        if (!l->has_column[i])
            continue;
        (void)fputs(cells[i], stdout);
        if (i < last && l->has_widths)
            (void)printf("%*s", (int)(l->widths[i] - text_width(cells[i])) + 2, "");
        else if (i < last)
            (void)putchar('\t');
    }
}

/* A heading is bold, a free lock dim; a lock that never expires needs attention. */
#define BOLD "1"
#define DIM "2"
#define YELLOW "33"

static void print_coloured_line(const char *const cells[COLUMNS], const struct table_layout *l,
                                const char *colour)
{
    if (l->has_colours && colour)
        (void)printf("\033[%sm", colour);
    print_cells(cells, l);
    (void)puts(l->has_colours && colour ? "\033[0m" : "");
}

static const char *colour_of_lock(const struct cli_lock *lock)
{
    if (!lock->info.is_locked)
        return DIM;
    return lock->info.ttl_ms < 0 ? YELLOW : NULL;
}

/* The columns that a narrow terminal lacks, the first of them first. */
static const int spare_columns[] = {LEFT, WAITERS, COUNT, HOLDERS, KIND, LABEL};

static size_t total_width(const struct table_layout *l)
{
    size_t total = 0;

    for (int i = 0; i < COLUMNS; i++)
        total += l->has_column[i] ? l->widths[i] + 2 : 0;
    return total - 2;
}

static void fit_columns_to_width(struct table_layout *l, size_t width)
{
    for (size_t i = 0; i < sizeof spare_columns / sizeof *spare_columns; i++)
        if (width > 0 && total_width(l) > width)
            l->has_column[spare_columns[i]] = false;
}

static const char *const headings[COLUMNS] = {
    "NAME", "KIND", "HOLDER", "HOLDERS", "COUNT", "TTL", "WAITERS", "LEFT", "LABEL"};

static int measure_columns(const struct ls_list *list, size_t widths[COLUMNS])
{
    struct table_row row;

    widen_columns(widths, headings);
    for (size_t i = 0; i < list->locks_count; i++) {
        if (!fill_row(&row, &list->locks[i], LS_TABLE))
            return cli_fail("out of memory");
        widen_columns(widths, row.cells);
        free(row.name);
    }
    return CLI_CONTINUE;
}

/* A line without a name: the place, the owner and its label. */
static void print_waiter(const struct ls_waiter *waiter, const struct table_layout *l)
{
    char owner[CLI_QUOTE_MAX];
    const char *between = l->has_widths ? "  " : "\t";

    (void)printf("%s%u%s%s%s%s\n", between, (unsigned)waiter->place, between,
                 cli_quote(owner, waiter->owner, waiter->owner_len), between,
                 waiter->label[0] ? waiter->label : "-");
}

/* Prints the waiters of lock number `lock`, which begin at *next, and moves *next after them. */
static void print_waiters(const struct ls_list *list, size_t lock, size_t *next,
                          const struct table_layout *l)
{
    for (; *next < list->waiters_count && list->waiters[*next].lock_index == lock; ++*next)
        print_waiter(&list->waiters[*next], l);
}

static int print_all_rows(const struct ls_list *list, enum ls_form form,
                          const struct table_layout *l)
{
    struct table_row row;
    size_t next = 0;

    for (size_t i = 0; i < list->locks_count; i++) {
        if (!fill_row(&row, &list->locks[i], form))
            return cli_fail("out of memory");
        print_coloured_line(row.cells, l, colour_of_lock(&list->locks[i]));
        free(row.name);
        print_waiters(list, i, &next, l);
    }
    return CLI_CONTINUE;
}

static bool has_labels(const struct ls_list *list)
{
    for (size_t i = 0; i < list->locks_count; i++)
        if (list->locks[i].label[0])
            return true;
    return false;
}

/* With --long all columns are printed, whatever the width. */
static int print_table(const struct ls_list *list, struct table_layout *l, bool is_long)
{
    if (list->locks_count == 0)
        return CLI_CONTINUE;
    if (measure_columns(list, l->widths) != CLI_CONTINUE)
        return CLI_EXIT_ERROR;
    l->has_widths = true;
    l->has_colours = ls_terminal_colours();
    l->has_column[LABEL] = is_long || has_labels(list);
    if (!is_long)
        fit_columns_to_width(l, ls_terminal_width());
    print_coloured_line(headings, l, BOLD);
    return print_all_rows(list, LS_TABLE, l);
}

static int print_waiter_json(const struct cli_lock *lock, const struct ls_waiter *waiter)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, lock->name, lock->name_len);
    cli_json_choose_escaping(&j, waiter->owner, waiter->owner_len);
    cli_json_bytes(&j, "name", lock->name, lock->name_len);
    cli_json_integer(&j, "place", waiter->place);
    cli_json_bytes(&j, "waiter", waiter->owner, waiter->owner_len);
    if (waiter->label[0])
        cli_json_text(&j, "label", waiter->label);
    return cli_json_print(&j);
}

static int print_json(const struct ls_list *list)
{
    int rc = CLI_CONTINUE;
    size_t next = 0;

    for (size_t i = 0; i < list->locks_count && rc == CLI_CONTINUE; i++) {
        rc = cli_lock_json(&list->locks[i]);
        for (; rc == CLI_CONTINUE && next < list->waiters_count &&
               list->waiters[next].lock_index == i; next++)
            rc = print_waiter_json(&list->locks[i], &list->waiters[next]);
    }
    return rc;
}

int ls_list_print(const struct ls_list *list, enum ls_form form, bool is_long)
{
    struct table_layout l = {.has_widths = false};

    for (int i = 0; i < COLUMNS; i++)
        l.has_column[i] = i != LABEL || is_long;
    switch (form) {
    case LS_TABLE:
        return print_table(list, &l, is_long);
    case LS_TABS:
        return print_all_rows(list, form, &l);
    default:
        return print_json(list);
    }
}
