/* `holdfast doctor`: what endangers locks here. */
/* Tests: tests/live/cli/test_doctor.c. */
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/report.h"
#include "cli/doctor/acl.h"
#include "cli/doctor/visit.h"
#include "cli/doctor/output.h"

#define TIMEOUT_MS 5000 /* of an answer */
/* The default of hf_client_options_init. */
#define TTL_MS 30000
#define TTL_LEAST_MS 100

/* Exit codes for warnings and for unsafe findings. */
enum { EXIT_WARNINGS = 1, EXIT_UNSAFE = 2 };

static void set_facts_of_url(struct doctor_facts *facts, const struct hf_url *url,
                             const struct hf_seeds *seeds)
{
    facts->topology = (int)seeds->topology;
    facts->sharded = (int)seeds->sharded;
    facts->replicas = url->replicas;
    facts->protocol = url->protocol ? url->protocol : 3;
    facts->is_tracking = url->is_tracking;
    facts->is_tls = url->kind == HF_URL_TLS;
    facts->is_unverified = hf_url_tls(url)->is_unverified;
    facts->address_map = seeds->address_map;
}

/* ---- the visit ---- */

/* If no server was reached, no rule was applied. */
static int exit_code_of(const struct doctor_facts *facts,
                        const struct doctor_findings *findings)
{
    bool is_reached = false;

    for (uint32_t i = 0; i < facts->servers_count; i++)
        is_reached = is_reached || facts->servers[i]->is_reached;
    if (!is_reached)
        return cli_fail("no server could be checked: %s",
                        facts->servers_count ? facts->servers[0]->connect_error : "");
    if (findings->count_by_severity[DOCTOR_UNSAFE] > 0)
        return EXIT_UNSAFE;
    return findings->count_by_severity[DOCTOR_WARNING] > 0 ? EXIT_WARNINGS : CLI_EXIT_OK;
}

static int report_findings(const struct cli_common *common,
                           const struct doctor_facts *facts)
{
    struct doctor_findings findings;
    int rc;

    doctor_apply_rules(facts, &findings);
    rc = findings.is_out_of_memory ? cli_fail("out of memory")
                            : doctor_print(common, facts, &findings);
    if (rc == CLI_CONTINUE)
        rc = exit_code_of(facts, &findings);
    doctor_findings_fini(&findings);
    return rc;
}

static hf_status visit_servers(struct doctor_facts *facts, const struct hf_url *url,
                               const struct hf_seeds *seeds, bool queries_info_alone,
                               struct hf_error *err)
{
    const struct doctor_visit_plan plan = {
        .url = url,
        .seeds = seeds,
        .timeout_ms = url->timeout_ms > 0 ? url->timeout_ms : TIMEOUT_MS,
        .queries_info_alone = queries_info_alone,
    };

    set_facts_of_url(facts, url, seeds);
    return doctor_visit(facts, &plan, err);
}

static int visit_and_report(const struct cli_common *common,
                            struct doctor_facts *facts, const struct hf_url *url,
                            const struct hf_seeds *seeds)
{
    struct hf_error err = {0};
    hf_status status = visit_servers(facts, url, seeds, false, &err);

    return status < 0 ? cli_fail_status(status, &err)
                      : report_findings(common, facts);
}

struct doctor_options {
    struct doctor_facts facts; /* what the options say of them */
    bool wants_acl;
    bool may_end_connections;
    int uses;                  /* set of enum doctor_use */
};

/* ---- the rule ---- */

/* A server that cannot be reached, or does not say its version, is unknown. */
static int print_acl_rule(struct doctor_options *options, const struct hf_url *url,
                          const struct hf_seeds *seeds)
{
    struct doctor_acl rule = {.url = url,
                              .seeds = seeds,
                              .name = options->facts.name,
                              .uses = options->uses,
                              .may_end_connections = options->may_end_connections};
    struct hf_error err = {0};
    hf_status status = visit_servers(&options->facts, url, seeds, true, &err);

    if (status < 0)
        return cli_fail_status(status, &err);
    rule.server = doctor_acl_server_of(&options->facts);
    if (rule.server == DOCTOR_ACL_UNKNOWN)
        cli_warn("the server's version is unknown: Redis 7.0 refuses the second "
                 "command and does not need it");
    doctor_acl_print(&rule);
    return CLI_CONTINUE;
}

static int examine_servers(const struct cli_common *common, struct doctor_options *options)
{
    struct doctor_facts *facts = &options->facts;
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    int rc = cli_common_parse_url(&url, &seeds, common);

    if (rc == CLI_CONTINUE && options->wants_acl)
        rc = print_acl_rule(options, &url, &seeds);
    else if (rc == CLI_CONTINUE)
        rc = visit_and_report(common, facts, &url, &seeds);
    if (rc == CLI_CONTINUE)
        rc = CLI_EXIT_OK;
    doctor_facts_fini(facts);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

/* ---- the command line ---- */

enum { OPT_NAME = 1, OPT_TTL, OPT_ACL, OPT_FOR, OPT_KILL };

static const struct cli_option own_options[] = {
    {OPT_NAME, 0, "name", "NAME"},
    {OPT_TTL, 0, "ttl", "DURATION"},
    {OPT_ACL, 0, "acl", NULL},
    {OPT_FOR, 0, "for", "USE"},
    {OPT_KILL, 0, "with-kill", NULL},
    {0},
};

static int add_use(const struct cli_args *args, const char *word,
                   struct doctor_options *options)
{
    int use = doctor_use_of(word);

    options->uses |= use;
    return use ? CLI_CONTINUE
               : cli_usage(args, "--for '%s': use one of %s", word,
                           DOCTOR_USE_WORDS);
}

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct doctor_options *options = ctx;

    switch (id) {
    case OPT_NAME:
        if (!*value || strlen(value) > HF_LOCK_NAME_MAX)
            return cli_usage(args, "--name has 1 to %d bytes",
                             HF_LOCK_NAME_MAX);
        options->facts.name = value;
        return CLI_CONTINUE;
    case OPT_TTL:
        return cli_take_duration(args, "--ttl", value, TTL_LEAST_MS,
                                 &options->facts.ttl_ms);
    case OPT_ACL:
        options->wants_acl = true;
        return CLI_CONTINUE;
    case OPT_FOR:
        return add_use(args, value, options);
    case OPT_KILL:
        options->may_end_connections = true;
        return CLI_CONTINUE;
    default:
        return cli_usage(args, "unexpected argument '%s'", value);
    }
}

static int main_doctor(struct cli_args *args, struct cli_common *common)
{
    struct doctor_options options = {.facts = {.ttl_ms = TTL_MS}};
    int rc = cli_common_parse(common, args, own_options, take_option, &options);

    if (rc == CLI_CONTINUE && !options.wants_acl && (options.uses || options.may_end_connections))
        rc = cli_usage(args, "--for and --with-kill need --acl");
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    return rc == CLI_CONTINUE ? examine_servers(common, &options) : rc;
}

const struct cli_command cli_doctor_command = {
    .name = "doctor",
    .summary = "check servers for problems that endanger locks",
    .help =
        "usage: holdfast doctor [option]...\n"
        "\n"
        "Checks the server, every node of a cluster, or the sentinels with their\n"
        "master and replicas: versions, ACL, memory, persistence, replication,\n"
        "clocks, topology, notifications. Reports each problem that endangers locks\n"
        "and its remedy. Changes nothing.\n"
        "Exit code: 0 no warnings, 1 warnings, 2 unsafe, 125 error.\n"
        "\n"
        "  --name NAME          check permissions for this lock (default: any name)\n"
        "  --ttl DURATION       TTL of the locks, as with 'run'; default 30s\n"
        "  --acl                print, for redis-cli, an ACL user with only the\n"
        "                       permissions that locks need at that URL (with\n"
        "                       --name: for that lock)\n"
        "  --for USE            with --acl: add the permissions for another use:\n"
        "                       fair, shared, exclusive, fenced, retention (of tokens),\n"
        "                       value, spin, quorum, multi, permits, semaphore, latch,\n"
        "                       label or ls; repeatable\n"
        "  --with-kill          with --acl: allow CLIENT KILL, which can close the\n"
        "                       connections of all users\n"
        "\n" CLI_COMMON_HELP,
    .main = main_doctor,
};
