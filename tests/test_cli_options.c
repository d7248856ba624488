/* Command lines: what is taken, and what is said about the rest. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/run/run_options.h"
#include "tests/support/suite.h"

#define WORDS_MAX 32

static struct cli_run_options run;
static struct cli_common common;
static struct cli_args args;
static char line[512];          /* what was said on standard error */

/* Splits at single spaces; "_" is an empty word. In memory that the parser may
 * write to, as argv is. */
static char **words(const char *text)
{
    static char copy[512];
    static char *list[WORDS_MAX + 1];
    size_t n = 0;

    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
        ck_assert_uint_lt(n, WORDS_MAX);
        if (strcmp(w, "_") == 0)
            *w = '\0';
        list[n++] = w;
    }
    list[n] = NULL;
    return list;
}

static int parse(const char *text)
{
    FILE *said = tmpfile();
    int rc;

    ck_assert_ptr_nonnull(said);
    ck_assert_int_ge(dup2(fileno(said), STDERR_FILENO), 0);
    cli_common_init(&common);
    args = (struct cli_args){.next_word = words(text), .command = &cli_run_command};
    rc = cli_run_options_parse(&run, &args, &common);
    rewind(said);
    line[fread(line, 1, sizeof line - 1, said)] = '\0';
    (void)fclose(said);
    return rc;
}

/* ---- what is taken ---- */

START_TEST(plain_call_has_defaults)
{
    ck_assert_int_eq(parse("name cmd arg"), CLI_CONTINUE);
    ck_assert_str_eq(run.name, "name");
    ck_assert_str_eq(run.argv[0], "cmd");
    ck_assert_str_eq(run.argv[1], "arg");
    ck_assert_ptr_null(run.argv[2]);
    ck_assert_int_eq(run.wait_ms, HF_FOREVER);
    ck_assert_int_eq(run.conflict_code, CLI_EXIT_NOT_ACQUIRED);
    ck_assert_int_eq(run.ttl_ms, 30000);
    ck_assert_int_eq(run.lease_ms, 0);
    ck_assert_int_eq(run.max_hold_ms, 0);
    ck_assert_int_eq(run.kill_after_ms, 5000);
    ck_assert_int_eq(run.lost_signal, SIGTERM);
    ck_assert_int_eq(run.status_fd, -1);
    ck_assert_ptr_null(common.urls[0]);
    ck_assert_str_eq(common.password, "");
    ck_assert_str_eq(common.tls.ca_file, "");
    ck_assert_int_eq(common.connect_timeout_ms, 0);
    ck_assert_str_eq(line, "");
}
END_TEST

START_TEST(every_option_has_its_place)
{
    ck_assert_int_eq(parse("-w 5 -E1 --ttl=2m --max-hold 1h -k250ms --on-lost "
                           "warn --lost-signal INT --status-fd 1 -vq --json "
                           "name cmd"),
                     CLI_CONTINUE);
    ck_assert_int_eq(run.wait_ms, 5000);
    ck_assert_int_eq(run.conflict_code, 1);
    ck_assert_int_eq(run.ttl_ms, 120000);
    ck_assert_int_eq(run.max_hold_ms, 3600000);
    ck_assert_int_eq(run.kill_after_ms, 250);
    ck_assert_int_eq(run.on_lost, CLI_ON_LOST_WARN);
    ck_assert_int_eq(run.lost_signal, SIGINT);
    ck_assert_int_eq(run.status_fd, 1);
    ck_assert(common.is_verbose && common.is_quiet && common.is_json);
}
END_TEST

START_TEST(tls_options_have_their_places)
{
    ck_assert_int_eq(parse("--tls-ca ca --tls-cert=cert --tls-key key "
                           "--tls-sni sni --connect-timeout 2 name cmd"),
                     CLI_CONTINUE);
    ck_assert_str_eq(common.tls.ca_file, "ca");
    ck_assert_str_eq(common.tls.cert_file, "cert");
    ck_assert_str_eq(common.tls.key_file, "key");
    ck_assert_str_eq(common.tls.server_name, "sni");
    ck_assert_str_eq(common.tls.key_password, "");
    ck_assert_int_eq(common.connect_timeout_ms, 2000);
}
END_TEST

/* And are gone with the rest. */
START_TEST(passwords_are_read_from_files)
{
    char path[] = "/tmp/holdfast-options-XXXXXX";
    char text[128];
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, "hush\n", 5), 5);
    (void)close(fd);
    (void)snprintf(text, sizeof text, "--password-file %s name cmd", path);
    ck_assert_int_eq(parse(text), CLI_CONTINUE);
    ck_assert_str_eq(common.password, "hush");
    ck_assert_str_eq(common.tls.key_password, "");
    cli_common_fini(&common);
    (void)snprintf(text, sizeof text, "--tls-key-password-file %s name cmd",
                   path);
    ck_assert_int_eq(parse(text), CLI_CONTINUE);
    (void)unlink(path);
    ck_assert_str_eq(common.password, "");
    ck_assert_str_eq(common.tls.key_password, "hush");
    cli_common_fini(&common);
    ck_assert_str_eq(common.tls.key_password, "");
    ck_assert_int_eq(parse("--tls-key-password-file /nonexistent name cmd"),
                     CLI_EXIT_ERROR);
    ck_assert_ptr_nonnull(strstr(line, "password file /nonexistent: No such"));
}
END_TEST

/* At its limit, which is the library's, and one byte above it. */
START_TEST(name_of_a_file_has_a_longest_length)
{
    static const char *const options[] = {"--tls-ca", "--tls-cert", "--tls-key",
                                          "--tls-sni"};
    char text[512];
    int rc;

    for (int len = 255; len <= 256; len++) {
        (void)snprintf(text, sizeof text, "%s %0*d name cmd", options[_i], len,
                       0);
        rc = parse(text);
        ck_assert_int_eq(rc, len == 255 ? CLI_CONTINUE : CLI_EXIT_ERROR);
    }
    ck_assert_ptr_nonnull(strstr(line, options[_i]));
    ck_assert_ptr_nonnull(strstr(line, "1 to 255 bytes"));
}
END_TEST

START_TEST(options_end_at_the_name)
{
    ck_assert_int_eq(parse("-n name cmd -n -w 5 --help -- -x"), CLI_CONTINUE);
    ck_assert_int_eq(run.wait_ms, 0);
    ck_assert_str_eq(run.argv[1], "-n");
    ck_assert_str_eq(run.argv[6], "-x");
}
END_TEST

static const struct {
    const char *text;
    const char *name;
    const char *command;
    const char *last;           /* its last argument */
} commands[] = {
    {"name -- cmd -n", "name", "cmd", "-n"},
    {"-- name cmd", "name", "cmd", "cmd"},
    {"-- -name -- -cmd", "-name", "-cmd", "-cmd"},
    {"name -- -- x", "name", "--", "x"},
    {"- cmd", "-", "cmd", "cmd"},
};

START_TEST(dashes_part_options_name_and_command)
{
    char **last;

    ck_assert_int_eq(parse(commands[_i].text), CLI_CONTINUE);
    ck_assert_str_eq(run.name, commands[_i].name);
    ck_assert_str_eq(run.argv[0], commands[_i].command);
    for (last = run.argv; last[1]; last++)
        continue;
    ck_assert_str_eq(*last, commands[_i].last);
}
END_TEST

/* As flock(1): before or behind the name. */
START_TEST(dash_c_is_run_by_a_shell)
{
    static const char *const texts[] = {"-c a|b name", "name -c a|b",
                                        "--command=a|b name",
                                        "name --command a|b"};

    (void)setenv("SHELL", "/bin/fancysh", 1);
    ck_assert_int_eq(parse(texts[_i]), CLI_CONTINUE);
    ck_assert_str_eq(run.name, "name");
    ck_assert_str_eq(run.argv[0], "/bin/fancysh");
    ck_assert_str_eq(run.argv[1], "-c");
    ck_assert_str_eq(run.argv[2], "a|b");
    ck_assert_ptr_null(run.argv[3]);
}
END_TEST

START_TEST(without_shell_it_is_bin_sh)
{
    (void)setenv("SHELL", "", 1);
    ck_assert_int_eq(parse("-c x name"), CLI_CONTINUE);
    ck_assert_str_eq(run.argv[0], "/bin/sh");
}
END_TEST

START_TEST(password_is_unreadable_in_argv)
{
    char **argv = words("-u rediss://u:secret@h?tls_key_password=pw name cmd");

    args = (struct cli_args){.next_word = argv, .command = &cli_run_command};
    cli_common_init(&common);
    ck_assert_int_eq(cli_run_options_parse(&run, &args, &common), CLI_CONTINUE);
    ck_assert_str_eq(common.urls[0], "rediss://u:secret@h?tls_key_password=pw");
    ck_assert_str_eq(argv[1], "rediss://u:******@h?tls_key_password=**");
    cli_common_fini(&common);
}
END_TEST

START_TEST(grace_is_at_most_half_the_lease)
{
    ck_assert_int_eq(parse("-k 5 --ttl 30 n c"), CLI_CONTINUE);
    ck_assert_int_eq(cli_run_rules_of(&run).grace_after_loss_ms, 5000);
    ck_assert_int_eq(parse("-k 20 --ttl 30 n c"), CLI_CONTINUE);
    ck_assert_int_eq(cli_run_rules_of(&run).grace_after_loss_ms, 15000);
    ck_assert_int_eq(cli_run_rules_of(&run).kill_after_ms, 20000);
    ck_assert_int_eq(parse("-k 20 --lease 2 n c"), CLI_CONTINUE);
    ck_assert_int_eq(cli_run_rules_of(&run).grace_after_loss_ms, 1000);
    ck_assert(cli_run_rules_of(&run).has_lease);
    ck_assert_int_eq(parse("-k 0 n c"), CLI_CONTINUE);
    ck_assert_int_eq(cli_run_rules_of(&run).grace_after_loss_ms, 0);
}
END_TEST

/* ---- flock's habits ---- */

START_TEST(options_may_be_abbreviated)
{
    ck_assert_int_eq(parse("--wai=5 --conf 3 --max 1h --excl --verb --kill-a 1 name cmd"),
                     CLI_CONTINUE);
    ck_assert_int_eq(run.wait_ms, 5000);
    ck_assert_int_eq(run.conflict_code, 3);
    ck_assert_int_eq(run.max_hold_ms, 3600000);
    ck_assert_int_eq(run.kill_after_ms, 1000);
    ck_assert_int_eq(run.kind.kind, HF_KIND_WRITE);
    ck_assert(common.is_verbose);
    ck_assert_str_eq(line, "");
}
END_TEST

static const struct {
    const char *text;
    int64_t wait_ms;
    enum hf_lock_kind kind;
    const char *said;           /* NULL: nothing */
} habits[] = {
    {"-e name cmd", HF_FOREVER, HF_KIND_WRITE, NULL},
    {"-x -n name cmd", 0, HF_KIND_WRITE, NULL},
    {"-s --nb name cmd", 0, HF_KIND_READ, NULL},
    {"--timeout 3 name cmd", 3000, HF_KIND_PLAIN, NULL},
    {"--timeo=3 name cmd", 3000, HF_KIND_PLAIN, NULL},
    {"-o name cmd", HF_FOREVER, HF_KIND_PLAIN, "--close has no effect: COMMAND never inherits"},
    {"-F name cmd", HF_FOREVER, HF_KIND_PLAIN, "--no-fork has no effect: holdfast must stay"},
    {"-oxw3 name cmd", 3000, HF_KIND_WRITE, "--close has no effect"},
    {"-oq name cmd", HF_FOREVER, HF_KIND_PLAIN, NULL},
};

START_TEST(options_of_flock_are_accepted)
{
    ck_assert_int_eq(parse(habits[_i].text), CLI_CONTINUE);
    ck_assert_int_eq(run.wait_ms, habits[_i].wait_ms);
    ck_assert_int_eq(run.kind.kind, habits[_i].kind);
    if (habits[_i].said)
        ck_assert_msg(strstr(line, habits[_i].said), "%s", line);
    else
        ck_assert_str_eq(line, "");
}
END_TEST

START_TEST(each_option_of_flock_without_effect_is_noted)
{
    ck_assert_int_eq(parse("-oF name cmd"), CLI_CONTINUE);
    ck_assert_msg(strstr(line, "--close has no effect: "), "%s", line);
    ck_assert_msg(strstr(line, "--no-fork has no effect: "), "%s", line);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
    const char *text;
    const char *said;           /* a part of the line */
} refused[] = {
    {"", "NAME and COMMAND are required"},
    {"name", "no COMMAND given"},
    {"name --", "no COMMAND given"},
    {"_ cmd", "NAME is empty"},
    {"name _", "COMMAND is empty"},
    {"-Z name cmd", "unknown option '-Z'"},
    {"--frob name cmd", "unknown option '--frob'"},
    {"--frob=1 name cmd", "unknown option '--frob'"},
    {"--wiat 5 name cmd", "unknown option '--wiat'; did you mean '--wait'?; see"},
    {"--try 5 name cmd", "unknown option '--try'; did you mean '--wait'?; see"},
    {"--no name cmd", "'--no' is the beginning of several options: --nonblock, --no-fork; see"},
    {"--tls-c=x name cmd", "'--tls-c' is the beginning of several options: --tls-ca, "
                           "--tls-cert; see"},
    {"--t 5 name cmd", "'--t' is the beginning of several options: --tls-ca, "},
    {"--nonb=1 name cmd", "--nonblock takes no value"},
    {"--wai", "--wai needs a value: DURATION"},
    {"--unlock name", "--unlock has no meaning: the lock is released when COMMAND ends"},
    {"--expire=5 name cmd", "unknown option '--expire'; did you mean '--ttl'?; see"},
    {"--no-wait name cmd", "unknown option '--no-wait'; did you mean '--nonblock'?; see"},
    {"--host x name cmd", "unknown option '--host'; did you mean '--url'?; see"},
    {"--timout 5 name cmd", "unknown option '--timout'; did you mean '--timeout'?; see"},
    {"--tll 5 name cmd", "unknown option '--tll'; did you mean '--ttl'?; see"},
    {"--laese=5 name cmd", "unknown option '--laese'; did you mean '--lease'?; see"},
    {"--non-block name cmd", "unknown option '--non-block'; did you mean '--nonblock'?; see"},
    {"--conect-timout 5 name cmd", "did you mean '--connect-timeout'?; see"},
    {"--max_hold 5 name cmd", "did you mean '--max-hold'?; see"},
    {"--lock name cmd", "unknown option '--lock'; see"},
    {"--tx name cmd", "unknown option '--tx'; see"},
    {"-- name", "no COMMAND given"},
    {"--= name cmd", "unknown option '--'; see"},
    {"--aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa name cmd",
     "aaaa'; see"},
    {"-nZ name cmd", "unknown option '-Z'"},
    {"--nonblock=1 name cmd", "--nonblock takes no value"},
    {"-w", "-w needs a value: DURATION"},
    {"--wait", "--wait needs a value: DURATION"},
    {"-w soon name cmd", "--wait 'soon'"},
    {"-w 1d name cmd", "--wait '1d'"},
    {"-w -1 name cmd", "--wait '-1'"},
    {"-w 87601h name cmd", "ten years"},
    {"--ttl 99ms name cmd", "at least 100 ms"},
    {"--lease 0 name cmd", "at least 100 ms"},
    {"--max-hold 0 name cmd", "at least 1 ms"},
    {"--connect-timeout 0 name cmd", "at least 1 ms"},
    {"-E 256 name cmd", "from 0 to 255"},
    {"-E x name cmd", "from 0 to 255"},
    {"--on-lost panic name cmd", "stop, warn or ignore"},
    {"--lost-signal CHLD name cmd", "--lost-signal 'CHLD'"},
    {"--status-fd 999 name cmd", "--status-fd 999: Bad file descriptor"},
    {"--status-fd x name cmd", "--status-fd 'x'"},
    {"--ttl 5 --lease 5 name cmd", "cannot be combined"},
    {"name -n cmd", "options must precede NAME"},
    {"name -c", "takes one argument"},
    {"name -c a b", "takes one argument"},
    {"-c x name cmd", "unexpected argument 'cmd'"},
    {"-u redis://a -u redis://b name cmd", "several -u options need --quorum"},
    {"--quorum -u redis://a -u redis://b name cmd", "needs three or more servers"},
    {"--quorum -u redis://a -u redis://b -u redis://a name cmd",
     "-u number 3 names the same server as an earlier -u"},
    {"--quorum -u redis://a/1 -u redis://b -u redis://c -u redis://a/2 name cmd",
     "-u number 4 names the same server as an earlier -u"},
    {"--quorum -u redis://a -u redis://b -u redis://c --multi b name cmd",
     "--quorum and --multi cannot be combined"},
    {"--quorum -u redis://a -u redis://b -u redis://c --permits 2 name cmd",
     "--permits cannot be combined with --multi or --quorum"},
    {"--multi b --fenced name cmd", "--fenced cannot be combined with --multi"},
    {"--multi b --permits 2 name cmd", "--permits cannot be combined with --multi or --quorum"},
    {"--permits 0 name cmd", "--permits '0'"},
    {"--permits 2 --fair name cmd", "cannot be combined"},
    {"--tls-ca _ name cmd", "--tls-ca has 1 to 255 bytes"},
    {"--tls-sni _ name cmd", "--tls-sni has 1 to 255 bytes"},
    {"--tls-key", "--tls-key needs a value: FILE"},
    {"--tls-verify no name cmd", "unknown option '--tls-verify'"},
};

START_TEST(mistake_is_reported_in_one_line)
{
    ck_assert_int_eq(parse(refused[_i].text), CLI_EXIT_ERROR);
    ck_assert_msg(strstr(line, refused[_i].said), "%s: %s", refused[_i].text,
                  line);
    ck_assert_msg(strncmp(line, "holdfast: run: ", 15) == 0, "%s", line);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
    ck_assert_ptr_nonnull(strstr(line, "holdfast help run"));
    cli_common_fini(&common);
}
END_TEST

/* Whoever reads the error must not be obeyed by its terminal. */
START_TEST(line_holds_no_control_characters)
{
    ck_assert_int_eq(parse("-w \033[2J\a name cmd"), CLI_EXIT_ERROR);
    for (const char *p = line; p[1]; p++)
        ck_assert_int_ge(*p, ' ');
}
END_TEST

/* ---- */

static TCase *case_taken(void)
{
    TCase *c = tcase_create("taken");

    tcase_add_test(c, plain_call_has_defaults);
    tcase_add_test(c, every_option_has_its_place);
    tcase_add_test(c, tls_options_have_their_places);
    tcase_add_test(c, passwords_are_read_from_files);
    tcase_add_loop_test(c, name_of_a_file_has_a_longest_length, 0, 4);
    tcase_add_test(c, options_end_at_the_name);
    tcase_add_loop_test(c, dashes_part_options_name_and_command, 0,
                        sizeof commands / sizeof *commands);
    tcase_add_loop_test(c, dash_c_is_run_by_a_shell, 0, 4);
    tcase_add_test(c, without_shell_it_is_bin_sh);
    tcase_add_test(c, password_is_unreadable_in_argv);
    tcase_add_test(c, grace_is_at_most_half_the_lease);
    tcase_add_test(c, options_may_be_abbreviated);
    tcase_add_loop_test(c, options_of_flock_are_accepted, 0, ROWS(habits));
    tcase_add_test(c, each_option_of_flock_without_effect_is_noted);
    return c;
}

static TCase *case_refused(void)
{
    TCase *c = tcase_create("refused");

    tcase_add_loop_test(c, mistake_is_reported_in_one_line, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(c, line_holds_no_control_characters);
    return c;
}

int main(void)
{
    Suite *s = suite_create("cli/options");

    suite_add_tcase(s, case_taken());
    suite_add_tcase(s, case_refused());
    return suite_run(s);
}
