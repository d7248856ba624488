/* URLs of servers. net.h describes their syntax. */
#ifndef HF_URL_H
#define HF_URL_H

#include "net/base/address_map.h"
#include "net/base/login.h"
#include "net/net.h"

struct sockaddr_un;

/* The address of a server, the login, and the options of the connection. A text that is not
 * given is "", and a number that is not given is 0. A copy borrows the login and the options
 * of TLS of the parsed URL until hf_url_wipe.
 *
 * A link uses the client name, protocol and timeouts of its struct hf_link_options; the
 * caller copies them from here. */
struct hf_url {
    enum { HF_URL_TCP, HF_URL_TLS, HF_URL_UNIX } kind;
    char host[256];           /* TCP, TLS: name or literal, without brackets */
    char path[108];           /* UNIX: the file of the socket; '@' and a name: an abstract
                                 socket. The size is that of sockaddr_un.sun_path */
    char ip[HF_IP_MAX];       /* used if the host's name cannot be resolved; "": none */
    uint16_t port;
    uint32_t database;
    struct hf_login *login;   /* NULL: none */
    char client_name[64];
    char label[129];
    int protocol;             /* 2 or 3 */
    int64_t connect_timeout_ms;
    int64_t timeout_ms;       /* of one request */
    int64_t idle_check_ms;    /* after this time without bytes, the connection is probed */
    int replicas;             /* replicas that must confirm a lock; HF_REPLICAS_* */
    int64_t replicas_timeout_ms;
    enum {
        HF_SENTINEL_TLS_SAME,     /* sentinels are connected as the servers are */
        HF_SENTINEL_TLS_NO,
        HF_SENTINEL_TLS_YES
    } sentinel_tls;
    bool is_tracking;         /* the server reports keys that change: CLIENT TRACKING */
    struct hf_tls_options *tls; /* NULL: none is given. They take 2.6 KB */
};

/* The servers that are contacted first, if there are several (see net/route). */
#define HF_MASTER_NAME_MAX 128
struct hf_seeds {
    enum {
        HF_STANDALONE,
        HF_CLUSTER,
        HF_SENTINEL,
        HF_REPLICATED             /* a master and its replicas, without sentinels */
    } topology;
    uint32_t hosts_count;       /* of hosts; standalone: 0, the host is that of the URL */
    struct {
        char host[256];
        uint16_t port;
    } hosts[HF_SEEDS_MAX];
    char master[HF_MASTER_NAME_MAX];    /* its name in the sentinels' configuration */
    struct hf_login *sentinel_login;    /* for the sentinels; NULL: none. A copy
                                           borrows it */
    enum {
        HF_SHARDED_AUTO,
        HF_SHARDED_ON,
        HF_SHARDED_OFF,
        HF_SHARDED_BOTH
    } sharded;
    struct hf_address_map *address_map; /* of addresses that servers announce; NULL: none. A copy
                                           borrows it */
};

/* hf_url_parse - parses the URL of one server. HF_E_INVAL: the error has the position of the
 *   wrong character, counted from 1, and nothing of the URL, so never the password. After
 *   HF_E_INVAL or HF_E_NOMEM, *out is unchanged. */
hf_status hf_url_parse(struct hf_url *out, const char *text,
                       struct hf_error *err);

/* hf_url_parse_seeds - parses the URL of any servers, with the same
 *   errors. The host of *out is the first one. */
hf_status hf_url_parse_seeds(struct hf_url *out, struct hf_seeds *seeds,
                             const char *text, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_url_uses_tls - returns whether the servers or the sentinels are connected over TLS. */
static inline bool hf_url_uses_tls(const struct hf_url *url)
{
    return url->kind == HF_URL_TLS || url->sentinel_tls == HF_SENTINEL_TLS_YES;
}

/* hf_url_tls - returns the options of TLS, also if none is given. */
const struct hf_tls_options *hf_url_tls(const struct hf_url *url);

/* hf_url_writable_tls - returns the options of TLS for writing, and allocates them if none is
 *   given. NULL: there is no memory. */
struct hf_tls_options *hf_url_writable_tls(struct hf_url *url) HF_MUST_CHECK;

/* hf_url_wipe - frees the login and the options of TLS of a parsed URL, and overwrites all of
 *   it. */
void hf_url_wipe(struct hf_url *url);

/* hf_seeds_wipe - does the same with *seeds, and frees their map. */
void hf_seeds_wipe(struct hf_seeds *seeds);

/* hf_url_hand_over - moves a parsed URL and its seeds to *out and *seeds, which own nothing. *from
 *   and *found then own nothing. */
void hf_url_hand_over(struct hf_url *out, struct hf_seeds *seeds, struct hf_url *from,
                      struct hf_seeds *found);

/* hf_url_set_tls - replaces those TLS options of the URL that *tls contains. HF_E_INVAL: it
 *   contains one, and the URL does not use TLS. HF_E_NOMEM. */
hf_status hf_url_set_tls(struct hf_url *url, const struct hf_tls_options *tls,
                         struct hf_error *err) HF_MUST_CHECK;

/* hf_url_check_label - HF_E_INVAL: the text is too long for hf_url.label, or is not UTF-8 without
 *   control characters. */
hf_status hf_url_check_label(const char *label, struct hf_error *err);

/* hf_url_set_server - changes the URL to that of another server. If this is a sentinel, `seeds` has
 *   its login and sentinel_tls applies, and the database is dropped; otherwise `seeds` is NULL. */
void hf_url_set_server(struct hf_url *url, const char *host, uint16_t port,
                       const struct hf_seeds *seeds);

/* hf_url_address - writes "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock" or
 *   "unix:@name" to dst, for messages. Returns dst. */
char *hf_url_address(const struct hf_url *url, char *dst, size_t room);

/* hf_url_sockaddr - writes the address of a URL of kind UNIX for connect(2). Returns its
 *   length. */
size_t hf_url_sockaddr(const struct hf_url *url, struct sockaddr_un *out);

#endif
