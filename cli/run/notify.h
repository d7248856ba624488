/* Notices of the command for systemd (sd_notify(3)). systemd accepts them only from the
 * main process of a service, which is holdfast (NotifyAccess=main, the default). So the
 * command's NOTIFY_SOCKET is a socket of ours (by a path: not every program knows of the
 * abstract namespace), and what arrives there is sent on, with its
 * descriptors. A line MAINPID= is left out: holdfast stays the main process, because it
 * releases the lock when the command has ended. */
#ifndef CLI_RUN_NOTIFY_H
#define CLI_RUN_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/net.h"

#define CLI_NOTIFY_PATH_MAX 108 /* of a socket: unix(7) */
#define CLI_ENV_NOTIFY "NOTIFY_SOCKET"
/* What systemd accepts: the bytes of a notice; the kernel passes no more descriptors. */
#define CLI_NOTICE_MAX 4096
#define CLI_NOTICE_FDS_MAX 253

struct cli_notify {
    struct hf_loop *loop;       /* NULL: closed */
    struct hf_io command_io;    /* the command's end */
    struct hf_timer timer;      /* until a notice is sent again */
    bool is_due;                /* noted in a turn of the loop */
    int systemd_fd;             /* to systemd */
    char folder[CLI_NOTIFY_PATH_MAX];      /* ours alone */
    char socket_path[CLI_NOTIFY_PATH_MAX]; /* of the socket in it */
    /* The notice that is under way. */
    size_t notice_len;          /* 0: there is none */
    char notice_text[CLI_NOTICE_MAX];
    size_t fds_count;
    int fds[CLI_NOTICE_FDS_MAX];
};

/* cli_notify_open  - opens our socket if the environment has that of a service manager. Also if
 *                    it is already open.
 * cli_notify_value - returns NOTIFY_SOCKET for the command: our socket, or the value of our
 *                    environment, or NULL.
 * cli_notify_after_turn  - forwards received notices. Call it after each hf_loop_dispatch.
 * cli_notify_close - forwards the last notices, for which it waits a second at most while
 *                    systemd is busy, and closes. Also if it is all zero.
 * cli_notify_remove - removes the socket and its folder, as cli_notify_close does: for the
 *                    guardian, if holdfast was killed. Also if there is none. May be called
 *                    after fork. */
void cli_notify_open(struct cli_notify *notify, struct hf_loop *loop);
const char *cli_notify_value(const struct cli_notify *notify);
void cli_notify_after_turn(struct cli_notify *notify);
void cli_notify_close(struct cli_notify *notify);
void cli_notify_remove(const struct cli_notify *notify);

#endif
