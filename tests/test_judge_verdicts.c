/* Histories that were written by hand, each with its verdict: tests/judge/verdicts/.
 * The second line of a file is "# verdict: right", or "# verdict: P2 9 11, P1 9 14":
 * each violation in the order in which the judge finds it, and the lines that it
 * shows. Half of the histories are right and look wrong at first sight. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/judge/judge.h"
#include "tests/support/suite.h"

#define FOLDER "tests/judge/verdicts/"
#define FILES_MAX 300
#define VERDICT "# verdict: "
#define PROPERTIES_JUDGED_HERE HISTORY_PROPERTIES

static char *names[FILES_MAX];
static int names_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_histories(void)
{
    DIR *folder = opendir(FOLDER);

    if (!folder)
        return;
    for (struct dirent *e; (e = readdir(folder)) && names_count < FILES_MAX;)
        if (e->d_name[0] != '.')
            names[names_count++] = strdup(e->d_name);
    closedir(folder);
    qsort(names, (size_t)names_count, sizeof *names, by_name);
}

/* ---- the verdict that a file has, and the judge's ---- */

static FILE *open_history(const char *name)
{
    char path[400];
    FILE *f;

    snprintf(path, sizeof path, FOLDER "%s", name);
    ck_assert_msg((f = fopen(path, "r")) != NULL, "%s", path);
    return f;
}

static void written_verdict(const char *name, char *verdict, size_t size)
{
    char line[400] = "";
    FILE *f = open_history(name);

    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    ck_assert_str_eq(line, HISTORY_FIRST_LINE "\n");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    fclose(f);
    ck_assert_msg(strncmp(line, VERDICT, strlen(VERDICT)) == 0, "%s: %s", name,
                  line);
    line[strcspn(line, "\n")] = '\0';
    snprintf(verdict, size, "%s", line + strlen(VERDICT));
}

static void append(char *verdict, size_t size, const char *separator, char letter,
                   size_t number)
{
    size_t len = strlen(verdict);

    snprintf(verdict + len, size - len, "%s%.*s%zu", len > 0 ? separator : "",
             letter != '\0', &letter, number);
}

static void found_verdict(const struct judge *judge, char *verdict, size_t size)
{
    const struct judge_violation *v;

    *verdict = '\0';
    for (size_t i = 0; (v = judge_violation(judge, i)); i++) {
        append(verdict, size, ", ", 'P', (size_t)v->property);
        for (int k = 0; k < v->lines_count; k++)
            append(verdict, size, " ", '\0', v->lines[k]);
    }
    if (*verdict == '\0')
        snprintf(verdict, size, "right");
}

/* A copy of the line in a block of its own length, so that a sanitizer notices a read
 * beyond it. */
static void show_line(struct judge *judge, const char *name, const char *line)
{
    size_t len = strcspn(line, "\n");
    char *copy = malloc(len > 0 ? len : 1);
    const char *wrong;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, line, len);
    wrong = judge_line(judge, copy, len);
    free(copy);
    ck_assert_msg(wrong == NULL, "%s: %s: %s", name, line, wrong);
}

START_TEST(the_judge_returns_the_verdict_that_the_history_has)
{
    struct judge *judge = judge_new(NULL);
    char verdict[400], found[400], line[400];
    FILE *f = open_history(names[_i]);

    while (fgets(line, sizeof line, f))
        show_line(judge, names[_i], line);
    fclose(f);
    judge_end(judge);
    written_verdict(names[_i], verdict, sizeof verdict);
    found_verdict(judge, found, sizeof found);
    judge_free(judge);
    ck_assert_msg(strcmp(verdict, found) == 0, "%s: it says \"%s\", the judge \"%s\"",
                  names[_i], verdict, found);
}
END_TEST

/* ---- the program ---- */

/* The program prints "FILE: P2, " for each violation, and nothing else in this form. */
START_TEST(the_program_prints_the_verdict_that_the_history_has)
{
    char command[600], line[1000], verdict[400], found[400] = "";
    size_t number;
    FILE *f;

    snprintf(command, sizeof command, HF_BUILD "/judge " FOLDER "%s 2>&1",
             names[_i]);
    ck_assert_ptr_nonnull(f = popen(command, "r"));
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, FOLDER, strlen(FOLDER)) == 0 && strstr(line, ": P"))
            append(found, sizeof found, ", ", 'P',
                   strtoul(strstr(line, ": P") + 3, NULL, 10));
        else if (sscanf(line, "    %zu: ", &number) == 1)
            append(found, sizeof found, " ", '\0', number);
    }
    written_verdict(names[_i], verdict, sizeof verdict);
    ck_assert_int_eq(WEXITSTATUS(pclose(f)), strcmp(verdict, "right") != 0);
    ck_assert_str_eq(*found ? found : "right", verdict);
}
END_TEST

/* ---- all of them ---- */

static bool names_property(const char *verdict, int property)
{
    char text[16];
    const char *at;

    (void)snprintf(text, sizeof text, "P%d ", property);
    at = strstr(verdict, text);
    return at != NULL;
}

START_TEST(there_are_enough_of_each_sort)
{
    int right = 0, wrong[1 + PROPERTIES_JUDGED_HERE] = {0};

    ck_assert_int_ge(names_count, 60);
    for (int i = 0; i < names_count; i++) {
        char verdict[400];

        written_verdict(names[i], verdict, sizeof verdict);
        right += strcmp(verdict, "right") == 0;
        ck_assert_msg(strncmp(names[i], strcmp(verdict, "right") ? "wrong-" : "right-",
                              6) == 0,
                      "%s: %s", names[i], verdict);
        for (int p = 1; p <= PROPERTIES_JUDGED_HERE; p++)
            wrong[p] += names_property(verdict, p);
    }
    ck_assert_int_ge(right, 30);
    for (int p = 1; p <= PROPERTIES_JUDGED_HERE; p++)
        ck_assert_msg(wrong[p] >= 3, "P%d: %d histories", p, wrong[p]);
}
END_TEST

static Suite *verdicts_suite(void)
{
    Suite *s = suite_create("judge_verdicts");
    TCase *tc = tcase_create("histories");

    find_histories();
    tcase_add_test(tc, there_are_enough_of_each_sort);
    tcase_add_loop_test(tc, the_judge_returns_the_verdict_that_the_history_has, 0,
                        names_count);
    tcase_add_loop_test(tc, the_program_prints_the_verdict_that_the_history_has, 0,
                        names_count);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(verdicts_suite());
}
