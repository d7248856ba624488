/* Users with exactly the rights that `holdfast doctor --acl` prints, which are those of
 * docs/permissions.md (tests/acl.sh). */
#ifndef TEST_ACL_H
#define TEST_ACL_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/live/test_lock.h"

#ifndef HF_BUILD
#define HF_BUILD "build"
#endif

#define ACL_USER "app"
#define ACL_PASSWORD "PASSWORD"

/* What doctor prints for this server, with these options; lent until the next call. */
static inline const char *acl_rule(struct server *of, const char *options)
{
    static char rule[2048];
    char url[SERVER_URL_MAX], command[512];
    FILE *p;

    (void)snprintf(command, sizeof command, HF_BUILD "/holdfast doctor --acl -u %s %s",
                   server_url(of, url), options);
    p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(fgets(rule, sizeof rule, p));
    rule[strcspn(rule, "\n")] = '\0';
    ck_assert_int_eq(fgetc(p), EOF); /* its version is known: one command is enough */
    ck_assert_int_eq(pclose(p), 0);
    return rule;
}

/* As redis-cli would send it: words, within quotation marks or not. */
static inline void acl_set(struct server *of, const char *rule)
{
    char plain[2048], *to = plain;

    for (const char *word = rule; *word;) {
        size_t len = strcspn(word, " ");
        size_t quotes = *word == '"';

        to += sprintf(to, "%.*s ", (int)(len - 2 * quotes), word + quotes);
        word += len + (word[len] == ' ');
    }
    to[-1] = '\0';
    ck_assert_str_eq(server_ask(of, plain), "OK");
    ck_assert_str_eq(server_ask(of, "ACL LOG RESET"), "OK");
}

static inline void acl_make_user(struct server *of, const char *options)
{
    acl_set(of, acl_rule(of, options));
}

static inline struct hf_client *acl_client(struct server *of, int protocol,
                                           int64_t watchdog_ms, int64_t retention_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(of));
    o.user = ACL_USER;
    o.password = ACL_PASSWORD;
    o.protocol = protocol;
    if (watchdog_ms > 0) /* 0: the default */
        o.watchdog_ms = watchdog_ms;
    o.token_retention_ms = retention_ms; /* 0: tokens stay */
    return client_with(&o);
}

/* The server has refused nothing. */
static inline void ck_assert_no_denial(struct server *of, const char *after)
{
    const char *log = server_ask(of, "ACL LOG");

    ck_assert_msg(!*log, "refused after %s: %s", after, log);
}

#endif
