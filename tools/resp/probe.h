/* The requests to a server, and the replies that RESP requires: a table. */
#ifndef TOOLS_RESP_PROBE_H
#define TOOLS_RESP_PROBE_H

#include <stddef.h>
#include <stdint.h>

enum {
    CLI_PROBE_ENDS = 1,         /* the server then closes the connection */
    CLI_PROBE_RAW = 2,          /* `request` is bytes, not a command */
    CLI_PROBE_CUT = 4,          /* each byte is sent by itself */
    CLI_PROBE_SWITCHES = 8,     /* changes the protocol on its way */
    CLI_PROBE_FRESH = 16,       /* on a connection without AUTH or HELLO */
    CLI_PROBE_THOUSAND = 32     /* a thousand requests, as many answers */
};

/* `request`: commands, a line each, their words parted by one space. A line
 * that begins with "& " is sent by a second connection, and answered, before
 * the next. These words stand for others:
 *     KEY       a key of ours, and a channel's name
 *     SCRIPT    cli_probe_script; its first argument chooses what it returns
 *     BYTES     each byte once, 0 to 255
 *     MEGA      1 MiB
 *     EMPTY     nothing
 *     PROTO     2 or 3, which is in force
 *     ID        this connection's id
 *     NUMBER    1000 to 1999, with CLI_PROBE_THOUSAND
 *
 * What is expected: in both protocols alike, or in each; not tested where there
 * is none. All replies as cli_print_sent writes them, parted by " / "; "..." is
 * anything in one reply, KEY the bulk string, NUMBER the number; last comes
 * "end of stream", if so. " or " parts whole alternatives. `absent`, likewise:
 * what a server answers that does not know of it, if not with an error. */
struct cli_probe {
    const char *name;
    const char *rule;           /* of docs/resp-check.md */
    const char *request;
    const char *both, *resp2, *resp3;   /* expected */
    const char *absent;
    unsigned flags;
};

extern const struct cli_probe cli_probes[];
extern const size_t cli_probe_count;
extern const char cli_probe_script[];

#endif
