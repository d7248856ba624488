/* Two URLs, compared by where they lead. See same_server.h. */
/* Tests: tests/test_cli_values.c, tests/live/cli/test_run_sets.c. */
#include "cli/base/same_server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/base/url.h"

struct server_url {
    struct hf_url url;
    struct hf_seeds seeds;      /* of one server, that one */
};

static bool parse_server_url(struct server_url *server, const char *text)
{
    struct hf_seeds *seeds = &server->seeds;

    if (hf_url_parse_seeds(&server->url, seeds, text, NULL) < 0)
        return false;
    if (seeds->hosts_count == 0) {
        (void)strcpy(seeds->hosts[0].host, server->url.host);
        seeds->hosts[seeds->hosts_count++].port = server->url.port;
    }
    return true;
}

static const char *normalise_local_host(const char *host)
{
    bool is_here = strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;

    return is_here ? "127.0.0.1" : host;
}

static bool have_common_host(const struct hf_seeds *a, const struct hf_seeds *b)
{
    for (uint32_t i = 0; i < a->hosts_count; i++)
        for (uint32_t j = 0; j < b->hosts_count; j++)
            if (a->hosts[i].port == b->hosts[j].port &&
                strcasecmp(normalise_local_host(a->hosts[i].host),
                           normalise_local_host(b->hosts[j].host)) == 0)
                return true;
    return false;
}

static bool is_one_server(const struct server_url *a, const struct server_url *b)
{
    bool is_unix = a->url.kind == HF_URL_UNIX;

    if (is_unix != (b->url.kind == HF_URL_UNIX))
        return false;
    if (is_unix)
        return strcmp(a->url.path, b->url.path) == 0;
    return strcmp(a->seeds.master, b->seeds.master) == 0 &&
           have_common_host(&a->seeds, &b->seeds);
}

bool cli_same_server(const char *a, const char *b)
{
    struct server_url *servers = calloc(2, sizeof *servers);
    bool is_same = servers && parse_server_url(&servers[0], a) &&
                   parse_server_url(&servers[1], b) && is_one_server(&servers[0], &servers[1]);

    for (int i = 0; servers && i < 2; i++) {
        hf_url_wipe(&servers[i].url);
        hf_seeds_wipe(&servers[i].seeds);
    }
    free(servers);
    return is_same;
}
