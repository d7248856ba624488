/* URLs: where a server is, and what to say to it. What they may hold: net.h. */
#ifndef HF_URL_H
#define HF_URL_H

#include "net/base/address_map.h"
#include "net/base/login.h"
#include "net/net.h"

struct sockaddr_un;

/* Where a server is, the login, and how to speak to it. All other text is in one
 * block, each piece NUL-terminated, "" if not given. A number that is not given is
 * 0. A copy borrows the login of the URL that was parsed, until hf_url_wipe.
 *
 * Client name, protocol and timeouts are wishes, for the caller that fills a struct
 * hf_link_options to take over: the link heeds those that stand there. */
struct hf_url {
    enum { HF_URL_TCP, HF_URL_TLS, HF_URL_UNIX } kind;
    char host[256];           /* TCP, TLS: name or literal, without brackets */
    char path[108];           /* UNIX: the socket's file; with '@' in front, an
                                 abstract name */
    char ip[HF_IP_MAX];       /* used if the host's name cannot be resolved; "": none */
    uint16_t port;
    uint32_t database;
    struct hf_login *login;   /* NULL: none */
    char client_name[64];
    int protocol;             /* 2 or 3 */
    int64_t connect_timeout_ms;
    int64_t timeout_ms;       /* of one request */
    int64_t idle_check_ms;    /* a connection that was quiet for so long is probed */
    int replicas;             /* that must have a lock; HF_REPLICAS_* */
    int64_t replicas_timeout_ms;
    struct hf_tls_options tls;
};

/* Where to begin, where there is more than one server (see net/route). */
#define HF_MASTER_NAME_MAX 128
struct hf_seeds {
    enum { HF_STANDALONE, HF_CLUSTER, HF_SENTINEL } topology;
    uint32_t count;             /* of hosts; standalone: none, it is the URL's */
    struct {
        char host[256];
        uint16_t port;
    } list[HF_SEEDS_MAX];
    char master[HF_MASTER_NAME_MAX];    /* what the sentinels call it */
    struct hf_login *sentinel_login;    /* at the sentinels; NULL: none. A copy
                                           borrows it */
    enum {
        HF_SHARDED_AUTO,
        HF_SHARDED_ON,
        HF_SHARDED_OFF,
        HF_SHARDED_BOTH
    } sharded;
    struct hf_address_map *map; /* of addresses that servers announce; NULL: none. A
                                   copy borrows it */
};

/* hf_url_parse       - of one server.
 * hf_url_parse_seeds - of a cluster or of sentinels, too; then the URL's host
 *                      is the first one.
 *
 * Both: HF_E_INVAL with a text that points at the offending character (its
 * position, counted from 1) and holds nothing of the URL, so never the
 * password; or HF_E_NOMEM. Then *out is left alone.
 *
 * hf_url_wipe   - the parsed URL is no longer needed: frees its login, and wipes all.
 * hf_seeds_wipe - the same; frees their map, too. */
hf_status hf_url_parse(struct hf_url *out, const char *text,
                       struct hf_error *err);
hf_status hf_url_parse_seeds(struct hf_url *out, struct hf_seeds *seeds,
                             const char *text, struct hf_error *err)
    HF_MUST_CHECK;
void hf_url_wipe(struct hf_url *url);
void hf_seeds_wipe(struct hf_seeds *seeds);

/* hf_url_set_login - a user, a password or both in place of those of the URL; NULL:
 * that part is not replaced. HF_E_INVAL: too long; HF_E_NOMEM. *url owns its login:
 * not for a copy. */
hf_status hf_url_set_login(struct hf_url *url, const char *user, const char *password,
                           struct hf_error *err) HF_MUST_CHECK;

/* hf_url_set_tls - what is given in *tls wins over what stands in the URL,
 * piece by piece. HF_E_INVAL: something is, and the URL is not one of TLS. */
hf_status hf_url_set_tls(struct hf_url *url, const struct hf_tls_options *tls,
                         struct hf_error *err) HF_MUST_CHECK;

/* hf_url_move - the same for another server: at that host, and, if it is one of
 * the sentinels of *seeds (else NULL), with their login and without a
 * database. */
void hf_url_move(struct hf_url *url, const char *host, uint16_t port,
                 const struct hf_seeds *seeds);

/* hf_url_address - "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock" or
 * "unix:@name", for messages. Returns dst.
 * hf_url_sockaddr - of a URL of kind UNIX, as connect(2) wants it. Returns its
 * length. */
char *hf_url_address(const struct hf_url *url, char *dst, size_t room);
size_t hf_url_sockaddr(const struct hf_url *url, struct sockaddr_un *out);

#endif
