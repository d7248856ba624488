/* The handshake against servers of all kinds, as a table: what we send, step by
 * step, what they answer, and what we make of it. No socket. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/link/handshake.h"
#include "tests/support/login.h"
#include "tests/support/dice.h"
#include "tests/support/request.h"
#include "tests/support/suite.h"

#define PASSWORD "open sesame, please"
#define RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define OTHER_RUN_ID "fedcba9876543210fedcba9876543210fedcba98"

/* ---- what servers say ---- */

#define OK "+OK\r\n"
#define HELLO_OK                                                            \
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n" \
    "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:42\r\n$4\r\nmode\r\n$10\r\n"         \
    "standalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
#define INFO_TEXT "# Server\r\nrun_id:" RUN_ID "\r\ntcp_port:6379\r\n"
#define INFO3 "=78\r\ntxt:" INFO_TEXT "\r\n"
#define INFO2 "$74\r\n" INFO_TEXT "\r\n"
#define UNKNOWN(command, args) \
    "-ERR unknown command '" command "', with args beginning with: " args "\r\n"
#define NO_SETINFO                                                          \
    "-ERR Unknown subcommand or wrong number of arguments for 'SETINFO'. " \
    "Try CLIENT HELP.\r\n"
#define BUSY "-BUSY Redis is busy running a script.\r\n"
#define WRONGPASS \
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
#define NOAUTH "-NOAUTH Authentication required.\r\n"

/* What we send. */
#define SETINFO "|CLIENT SETINFO LIB-NAME holdfast|CLIENT SETINFO LIB-VER " HF_VERSION
#define INFO "|INFO server"
#define SETTINGS INFO SETINFO
#define SET3 INFO3 OK OK
#define SET2 INFO2 OK OK
#define LOCKED NOAUTH NOAUTH NOAUTH         /* without a login; so does Redis 7.2, */
#define LOCKED_70 NOAUTH NO_SETINFO NO_SETINFO
#define KILL_41 "CLIENT KILL ID 41"

#define STEPS 5

struct row {
    const char *what;
    const char *user, *password, *client_name;
    uint32_t database;
    enum hf_handshake_mode mode;      /* 0: RESP3 */
    bool is_careful;
    int64_t predecessor_id;
    const char *predecessor_run_id;
    struct {
        const char *sends;            /* commands, with bars between */
        const char *answers;
    } steps[STEPS];
    hf_status status;                 /* HF_OK: READY */
    bool is_final;
    int protocol;                     /* 0: 3 */
    int64_t id;                       /* 0: 42; -1: none is known */
    const char *run_id;               /* NULL: RUN_ID */
    const char *says;                 /* part of the error */
};

static const struct row rows[] = {
    /* ---- who we are ---- */
    {"nothing special", .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3}}},
    {"a name", .client_name = "worker-7",
     .steps = {{"HELLO 3" INFO "|CLIENT SETNAME worker-7" SETINFO, HELLO_OK SET3 OK}}},
    {"a password", .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS, HELLO_OK SET3}}},
    {"a user and a password", .user = "alice", .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH alice " PASSWORD SETTINGS, HELLO_OK SET3}}},
    {"an empty password", .password = "",
     .steps = {{"HELLO 3 AUTH default \"\"" SETTINGS, HELLO_OK SET3}}},
    {"a database", .database = 3,
     .steps = {{"HELLO 3|SELECT 3" SETTINGS, HELLO_OK OK SET3}}},
    {"all of it", .user = "alice", .password = PASSWORD, .client_name = "n",
     .database = 15,
     .steps = {{"HELLO 3 AUTH alice " PASSWORD "|SELECT 15" INFO "|CLIENT SETNAME n" SETINFO,
                HELLO_OK OK INFO3 OK OK OK}}},
    {"RESP2 wanted", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .steps = {{"CLIENT ID" SETTINGS, ":42\r\n" SET2}}},
    {"RESP2, a password", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD,
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"RESP2, all of it", .mode = HANDSHAKE_RESP2, .protocol = 2, .user = "alice",
     .password = PASSWORD, .client_name = "n", .database = 1,
     .steps = {{"AUTH alice " PASSWORD "|CLIENT ID|SELECT 1" INFO "|CLIENT SETNAME n" SETINFO,
                OK ":42\r\n" OK INFO2 OK OK OK}}},

    /* ---- servers without RESP3 ---- */
    {"Redis 5", .protocol = 2,
     .steps = {{"HELLO 3" SETTINGS,
                "-ERR unknown command `HELLO`, with args beginning with: `3`, "
                "\r\n" INFO2 NO_SETINFO NO_SETINFO},
               {"CLIENT ID" SETTINGS, ":42\r\n" INFO2 NO_SETINFO NO_SETINFO}}},
    {"Redis 5 and a password", .protocol = 2, .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                UNKNOWN("HELLO", "'3' 'AUTH' 'default' '" PASSWORD "'") LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                OK ":42\r\n" INFO2 NO_SETINFO NO_SETINFO}}},
    {"a proxy", .protocol = 2,
     .steps = {{"HELLO 3" SETTINGS,
                "-ERR unknown or unsupported command 'HELLO'\r\n" SET2},
               {"CLIENT ID" SETTINGS, ":42\r\n" SET2}}},
    {"Redis 4 has no CLIENT ID", .protocol = 2, .id = -1,
     .steps = {{"HELLO 3" SETTINGS,
                "-ERR unknown command 'HELLO'\r\n" INFO2 NO_SETINFO NO_SETINFO},
               {"CLIENT ID" SETTINGS,
                "-ERR Syntax error, try CLIENT (LIST | KILL)\r\n" INFO2 NO_SETINFO NO_SETINFO}}},
    {"NOPROTO", .protocol = 2, .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "-NOPROTO unsupported protocol version\r\n" LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"an ACL without HELLO", .protocol = 2, .user = "alice",
     .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH alice " PASSWORD SETTINGS,
                "-NOPERM this user has no permissions to run the 'hello' "
                "command\r\n" SET2},
               {"AUTH alice " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},

    {"a database: what follows a refused HELLO has no effect", .protocol = 2,
     .password = PASSWORD, .database = 3,
     .steps = {{"HELLO 3 AUTH default " PASSWORD "|SELECT 3" SETTINGS,
                "-ERR no\r\n" NOAUTH INFO2 OK OK},
               {"AUTH " PASSWORD "|CLIENT ID|SELECT 3" SETTINGS,
                OK ":42\r\n" OK INFO2 OK OK}}},
    {"the server begins to load after a refused HELLO", .status = HF_E_SERVER,
     .says = "INFO: the server replied: LOADING",
     .steps = {{"HELLO 3" SETTINGS, "-ERR no\r\n-LOADING later\r\n"}}},

    /* Any error, in whatever words, except refused logins and temporary ones. */
#define WITHOUT_HELLO(who, words)                           \
    {who, .protocol = 2,                                    \
     .steps = {{"HELLO 3" SETTINGS, "-" words "\r\n" SET2}, \
               {"CLIENT ID" SETTINGS, ":42\r\n" SET2}}}
    WITHOUT_HELLO("Envoy", "unsupported command 'HELLO'"),
    WITHOUT_HELLO("redis-cluster-proxy", "ERR unsupported command `hello`"),
    WITHOUT_HELLO("Codis", "ERR handle request, command 'HELLO' is not allowed"),
    WITHOUT_HELLO("a syntax error", "ERR syntax error"),
    WITHOUT_HELLO("Upstash", "ERR Command is not available: 'HELLO'"),
    WITHOUT_HELLO("an error without a word", ""),
    {"a password, and words of its own", .protocol = 2, .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "-ERR command 'HELLO' not support\r\n" LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"NOAUTH, to a HELLO with a password", .protocol = 2, .user = "alice",
     .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH alice " PASSWORD SETTINGS,
                NOAUTH LOCKED},
               {"AUTH alice " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"NOAUTH to both", .protocol = 2, .password = PASSWORD,
     .status = HF_E_AUTH, .is_final = true, .says = "AUTH",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                NOAUTH LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, NOAUTH}}},

    /* ---- a proxy that closes the connection at CLIENT and INFO ---- */
    {"after a hangup", .is_careful = true,
     .steps = {{"PING", "+PONG\r\n"},
               {"HELLO 3" SETTINGS, HELLO_OK SET3}}},
    {"after a hangup, with a password", .is_careful = true, .password = PASSWORD,
     .steps = {{"PING", "-NOAUTH Authentication required.\r\n"},
               {"HELLO 3 AUTH default " PASSWORD SETTINGS, HELLO_OK SET3}}},
    {"after a hangup at HELLO", .is_careful = true, .mode = HANDSHAKE_RESP2,
     .protocol = 2,
     .steps = {{"PING", "+PONG\r\n"},
               {"CLIENT ID" SETTINGS, ":42\r\n" SET2}}},
    {"after hangups at all that may be missing", .is_careful = true,
     .mode = HANDSHAKE_BARE, .protocol = 2, .id = -1, .run_id = "",
     .steps = {{"PING", "+PONG\r\n"}}},
    {"after a hangup, and loading", .is_careful = true, .protocol = -1,
     .status = HF_E_SERVER, .says = "PING: the server replied: LOADING",
     .steps = {{"PING", "-LOADING later\r\n"}}},
    {"bare", .mode = HANDSHAKE_BARE, .protocol = 2, .id = -1, .run_id = "",
     .steps = {{"PING", "+PONG\r\n"}}},
    {"bare, all of it", .mode = HANDSHAKE_BARE, .protocol = 2, .id = -1,
     .run_id = "", .user = "alice", .password = PASSWORD, .client_name = "n",
     .database = 1, .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"AUTH alice " PASSWORD "|SELECT 1|PING", OK OK "+PONG\r\n"}}},
    {"bare, and PING is not there, either", .mode = HANDSHAKE_BARE, .protocol = 2,
     .id = -1, .run_id = "",
     .steps = {{"PING", "-ERR unknown command\r\n"}}},
    {"bare, no password given", .mode = HANDSHAKE_BARE, .protocol = 2,
     .status = HF_E_AUTH, .is_final = true, .says = "NOAUTH (it wants",
     .steps = {{"PING", "-NOAUTH Authentication required.\r\n"}}},
    {"bare, a wrong password", .mode = HANDSHAKE_BARE, .protocol = 2,
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "ERR invalid password",
     .steps = {{"AUTH " PASSWORD "|PING", "-ERR invalid password\r\n"}}},
    {"bare, and the server is loading", .mode = HANDSHAKE_BARE, .protocol = 2,
     .status = HF_E_SERVER, .says = "LOADING",
     .steps = {{"PING", "-LOADING later\r\n"}}},

    /* ---- wishes that are not granted ---- */
    {"a name that servers refuse", .client_name = "my app",
     .steps = {{"HELLO 3" INFO "|CLIENT SETNAME my app" SETINFO, HELLO_OK INFO3
                "-ERR Client names cannot contain spaces, newlines or special "
                "characters.\r\n" OK OK}}},
    {"an ACL without CLIENT and INFO", .client_name = "n", .run_id = "",
     .steps = {{"HELLO 3" INFO "|CLIENT SETNAME n" SETINFO,
                HELLO_OK "-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n-NOPERM no\r\n"}}},
    {"RESP2 and an ACL without CLIENT", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .id = -1,
     .steps = {{"CLIENT ID" SETTINGS,
                "-NOPERM no\r\n" INFO2 "-NOPERM no\r\n-NOPERM no\r\n"}}},

    /* ---- a user that the server does not know (Heroku) ---- */
    {"a placeholder for the user", .user = "h", .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH h " PASSWORD SETTINGS, WRONGPASS LOCKED},
               {"HELLO 3 AUTH default " PASSWORD SETTINGS, HELLO_OK SET3}}},
    {"a placeholder for the user, Redis 7.0", .user = "h", .password = PASSWORD,
     .steps = {{"HELLO 3 AUTH h " PASSWORD SETTINGS, WRONGPASS LOCKED_70},
               {"HELLO 3 AUTH default " PASSWORD SETTINGS,
                HELLO_OK INFO3 NO_SETINFO NO_SETINFO}}},
    {"a placeholder for the user, and a database", .user = "h", .password = PASSWORD,
     .database = 2,
     .steps = {{"HELLO 3 AUTH h " PASSWORD "|SELECT 2" SETTINGS, WRONGPASS NOAUTH LOCKED},
               {"HELLO 3 AUTH default " PASSWORD "|SELECT 2" SETTINGS,
                HELLO_OK OK SET3}}},
    {"a placeholder, and a server without HELLO for the default user", .user = "h",
     .password = PASSWORD, .protocol = 2,
     .steps = {{"HELLO 3 AUTH h " PASSWORD SETTINGS, WRONGPASS LOCKED},
               {"HELLO 3 AUTH default " PASSWORD SETTINGS, "-ERR no\r\n" LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"a wrong password, and a default user without one", .user = "alice",
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "HELLO: the server replied: WRONGPASS",
     .steps = {{"HELLO 3 AUTH alice " PASSWORD SETTINGS, WRONGPASS INFO3}}},
    {"a wrong password, and a default user without one, RESP2",
     .mode = HANDSHAKE_RESP2, .protocol = 2, .user = "alice", .password = PASSWORD,
     .status = HF_E_AUTH, .is_final = true,
     .says = "AUTH: the server replied: WRONGPASS",
     .steps = {{"AUTH alice " PASSWORD "|CLIENT ID" SETTINGS, WRONGPASS ":42\r\n"}}},
    {"a placeholder for the user, RESP2", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .user = "h", .password = PASSWORD,
     .steps = {{"AUTH h " PASSWORD "|CLIENT ID" SETTINGS,
                WRONGPASS NOAUTH LOCKED_70},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, OK ":42\r\n" SET2}}},
    {"a placeholder for the user, bare", .mode = HANDSHAKE_BARE, .protocol = 2,
     .id = -1, .run_id = "", .user = "h", .password = PASSWORD, .database = 2,
     .steps = {{"AUTH h " PASSWORD "|SELECT 2|PING",
                WRONGPASS "-NOAUTH no\r\n-NOAUTH no\r\n"},
               {"AUTH " PASSWORD "|SELECT 2|PING", OK OK "+PONG\r\n"}}},
    {"a user with a wrong password", .user = "alice", .password = PASSWORD,
     .status = HF_E_AUTH, .is_final = true, .says = "WRONGPASS",
     .steps = {{"HELLO 3 AUTH alice " PASSWORD SETTINGS, WRONGPASS LOCKED},
               {"HELLO 3 AUTH default " PASSWORD SETTINGS, WRONGPASS}}},
    {"a user with a wrong password, RESP2", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .user = "alice", .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "AUTH: the server replied: WRONGPASS",
     .steps = {{"AUTH alice " PASSWORD "|CLIENT ID" SETTINGS,
                WRONGPASS NOAUTH LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, WRONGPASS}}},

    /* ---- refused ---- */
    {"a wrong password", .password = PASSWORD, .status = HF_E_AUTH,
     .is_final = true, .says = "WRONGPASS invalid username-password pair",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "-WRONGPASS invalid username-password pair or user is "
                "disabled.\r\n"}}},
    {"no password", .status = HF_E_AUTH, .is_final = true,
     .says = "NOAUTH (it wants a password)",
     .steps = {{"HELLO 3" SETTINGS,
                "-NOAUTH HELLO must be called with the client already "
                "authenticated\r\n"}}},
    {"RESP2, a wrong password", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "ERR invalid password",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS, "-ERR invalid password\r\n"}}},
    {"RESP2, no password wanted", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "no password is set",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                "-ERR Client sent AUTH, but no password is set\r\n"}}},
    {"RESP2, no password given", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .status = HF_E_AUTH, .is_final = true, .says = "NOAUTH (it wants",
     .steps = {{"CLIENT ID" SETTINGS, "-NOAUTH Authentication required.\r\n"}}},
    {"a database that is not there", .database = 99, .status = HF_E_SERVER,
     .is_final = true,
     .says = "SELECT: the server replied: ERR DB index is out of range; the "
             "server has no database 99: name a lower one",
     .steps = {{"HELLO 3|SELECT 99" SETTINGS,
                HELLO_OK "-ERR DB index is out of range\r\n"}}},

    /* ---- words that hold the password ---- */
    {"AUTH is not known, and repeated", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "AUTH",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                UNKNOWN("AUTH", "'" PASSWORD "'")}}},
    {"AUTH is not known, and repeated in part", .mode = HANDSHAKE_RESP2,
     .protocol = 2, .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "AUTH",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                UNKNOWN("AUTH", "'open sesame")}}},
    {"HELLO is repeated in words of its own, and AUTH", .password = PASSWORD,
     .protocol = 2, .status = HF_E_AUTH, .is_final = true, .says = "AUTH",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "-ERR what is AUTH default " PASSWORD "?\r\n" LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                "-ERR what is AUTH " PASSWORD "?\r\n"}}},
    {"an echo", .password = PASSWORD, .status = HF_E_PROTOCOL, .is_final = true,
     .says = "HELLO",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "$24\r\nAUTH " PASSWORD "\r\n"}}},

    {"a part of the password", .password = PASSWORD, .status = HF_E_AUTH,
     .is_final = true, .says = "(words that may hold the password)",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS,
                "-WRONGPASS it does not end in 'ease'\r\n"}}},
    {"a part of the password, RESP2", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD, .status = HF_E_AUTH, .is_final = true,
     .says = "(words that may hold the password)",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS, "-ERR not open\r\n"}}},
    {"a short password", .password = "ab", .protocol = 2, .status = HF_E_AUTH,
     .is_final = true, .says = "(words that may hold the password)",
     .steps = {{"HELLO 3 AUTH default ab" SETTINGS, "-ERR cabs\r\n" LOCKED},
               {"AUTH ab|CLIENT ID" SETTINGS, "-ERR cabs\r\n"}}},
    {"a password of a refusal's own words", .password = "the-password-1",
     .status = HF_E_AUTH, .is_final = true, .says = "user is disabled.",
     .steps = {{"HELLO 3 AUTH default the-password-1" SETTINGS,
                "-WRONGPASS invalid username-password pair or user is "
                "disabled.\r\n"}}},
    {"three bytes of the password are no secret", .password = PASSWORD,
     .protocol = 2, .status = HF_E_AUTH, .is_final = true, .says = "ERR ope",
     .steps = {{"HELLO 3 AUTH default " PASSWORD SETTINGS, "-ERR ope\r\n" LOCKED},
               {"AUTH " PASSWORD "|CLIENT ID" SETTINGS, "-ERR ope\r\n"}}},

    /* ---- not now ---- */
    {"LOADING", .status = HF_E_SERVER, .says = "LOADING",
     .steps = {{"HELLO 3" SETTINGS, "-LOADING Redis is loading the dataset in memory\r\n"}}},
    {"too many clients", .status = HF_E_SERVER,
     .says = "max number of clients reached",
     .steps = {{"HELLO 3" SETTINGS, "-ERR max number of clients reached\r\n"}}},
    {"too many clients: AUTH is not answered", .mode = HANDSHAKE_RESP2,
     .protocol = 2, .password = PASSWORD, .status = HF_E_SERVER,
     .says = "max number of clients reached",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                "-ERR max number of clients reached\r\n"}}},
    {"too many clients: CLIENT ID is not answered", .mode = HANDSHAKE_RESP2,
     .protocol = 2, .status = HF_E_SERVER,
     .says = "max number of clients + cluster connections reached",
     .steps = {{"CLIENT ID" SETTINGS,
                "-ERR max number of clients + cluster connections reached"
                "\r\n"}}},
    {"protected mode, RESP2", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .password = PASSWORD, .status = HF_E_SERVER, .says = "DENIED",
     .steps = {{"AUTH " PASSWORD "|CLIENT ID" SETTINGS,
                "-DENIED Redis is running in protected mode\r\n"}}},
    {"protected mode", .status = HF_E_SERVER, .says = "DENIED",
     .steps = {{"HELLO 3" SETTINGS, "-DENIED Redis is running in protected mode\r\n"}}},
    {"a script runs: INFO is not answered, so nobody can be killed",
     .status = HF_E_SERVER, .says = "INFO: the server replied: BUSY",
     .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK BUSY}}},
    {"a script runs: the predecessor lives on", .status = HF_E_SERVER,
     .says = "CLIENT KILL", .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3}, {KILL_41, BUSY}}},
    {"a script runs: SELECT", .database = 1, .status = HF_E_SERVER,
     .says = "SELECT: the server replied: BUSY",
     .steps = {{"HELLO 3|SELECT 1" SETTINGS, HELLO_OK BUSY}}},
    {"a script runs: CLIENT ID", .mode = HANDSHAKE_RESP2, .protocol = 2,
     .status = HF_E_SERVER, .says = "CLIENT ID",
     .steps = {{"CLIENT ID" SETTINGS, BUSY}}},

    /* ---- odd answers ---- */
    {"HELLO in another order, with more in it",
     .steps = {{"HELLO 3" SETTINGS,
                "%4\r\n+id\r\n:42\r\n*2\r\n+id\r\n:1\r\n:2\r\n+modules\r\n*1\r\n"
                "%1\r\n+id\r\n:3\r\n+availability_zone\r\n$0\r\n\r\n" SET3}}},
    {"HELLO streamed",
     .steps = {{"HELLO 3" SETTINGS, "%?\r\n+proto\r\n:3\r\n+id\r\n:42\r\n.\r\n" SET3}}},
    {"HELLO with an attribute",
     .steps = {{"HELLO 3" SETTINGS, "|1\r\n+id\r\n:1\r\n%1\r\n+id\r\n:42\r\n" SET3}}},
    {"HELLO without an id", .id = -1,
     .steps = {{"HELLO 3" SETTINGS, "%1\r\n+proto\r\n:3\r\n" SET3}}},
    {"HELLO with an id that is none", .id = -1,
     .steps = {{"HELLO 3" SETTINGS, "%1\r\n+id\r\n+abc\r\n" SET3}}},
    {"HELLO empty", .id = -1,
     .steps = {{"HELLO 3" SETTINGS, "%0\r\n" SET3}}},
    {"HELLO answered in RESP2", .status = HF_E_PROTOCOL, .is_final = true,
     .says = "HELLO", .steps = {{"HELLO 3" SETTINGS, "*2\r\n+id\r\n:42\r\n"}}},
    {"HELLO answered OK", .status = HF_E_PROTOCOL, .is_final = true,
     .says = "HELLO: the server replied: OK", .steps = {{"HELLO 3" SETTINGS, OK}}},
    {"HELLO answered null", .status = HF_E_PROTOCOL, .is_final = true,
     .says = "an unexpected reply", .steps = {{"HELLO 3" SETTINGS, "_\r\n"}}},
    {"INFO of another kind", .run_id = "",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK "*0\r\n" OK OK}}},
    {"INFO without a run_id", .run_id = "",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK "$8\r\n# Server\r\n" OK OK}}},
    {"INFO that ends in the run_id", .run_id = "abc",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK "$10\r\nrun_id:abc\r\n" OK OK}}},
    {"INFO with an endless run_id", .run_id = RUN_ID "0123456789abcdef0123456",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK "$87\r\nrun_id:" RUN_ID RUN_ID "\r\n" OK OK}},
     .says = NULL},

    /* ---- the predecessor: design 11 ---- */
    {"it is killed", .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3},
               {KILL_41, ":1\r\n"}}},
    {"it was gone", .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3},
               {KILL_41, ":0\r\n"}}},
    {"it may not be killed", .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3},
               {KILL_41, "-NOPERM no\r\n"}}},
    {"it is killed in RESP2", .protocol = 2, .mode = HANDSHAKE_RESP2,
     .predecessor_id = 41, .predecessor_run_id = RUN_ID,
     .steps = {{"CLIENT ID" SETTINGS, ":42\r\n" SET2},
               {KILL_41, ":1\r\n"}}},
    {"the server was restarted: the id is another's", .predecessor_id = 41,
     .predecessor_run_id = OTHER_RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3}}},
    {"it was never known", .predecessor_id = 0, .predecessor_run_id = RUN_ID,
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3}}},
    {"its server was never known", .predecessor_id = 41,
     .predecessor_run_id = "",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK SET3}}},
    {"neither its server nor this one is known", .predecessor_id = 41,
     .predecessor_run_id = "", .run_id = "",
     .steps = {{"HELLO 3" SETTINGS, HELLO_OK "-NOPERM no\r\n" OK OK}}},
    {"it outlives a refused attempt", .predecessor_id = 41,
     .predecessor_run_id = RUN_ID, .status = HF_E_SERVER, .says = "LOADING",
     .steps = {{"HELLO 3" SETTINGS, "-LOADING later\r\n"}}},
};

/* ---- one handshake ---- */

static struct {
    struct hf_predecessor predecessor;
    struct hf_handshake handshake;
} t;

static void set(char *dst, const char *text)
{
    (void)strcpy(dst, text ? text : "");
}

static void setup(const struct row *row)
{
    if (t.handshake.mem)
        hf_handshake_wipe(&t.handshake);
    memset(&t, 0, sizeof t);
    t.predecessor.client_id = row->predecessor_id;
    set(t.predecessor.run_id, row->predecessor_run_id);
    t.handshake.mem = &hf_mem_libc;
    t.handshake.login = login_of(row->user ? row->user : "", row->password);
    t.handshake.database = row->database;
    t.handshake.client_name = row->client_name;
    t.handshake.mode = row->mode;
    t.handshake.probes_with_ping_first = row->is_careful;
    t.handshake.predecessor = &t.predecessor;
    ck_assert_int_eq(hf_handshake_start(&t.handshake), HF_OK);
}

/* Takes what is to be sent, as the connection does: nothing of it stays. */
static const char *sent(void)
{
    static char text[2 * HANDSHAKE_OUTPUT_MAX];
    struct request *r = malloc(sizeof *r);
    size_t at = 0, end = 0;

    text[0] = '\0';
    while (at < t.handshake.output_len) {
        char *one;

        ck_assert_int_eq(request_decode(r, t.handshake.output + at,
                                        t.handshake.output_len - at),
                         REQUEST_WHOLE);
        one = request_text(r);
        end += (size_t)sprintf(text + end, "%s%s", at ? "|" : "", one);
        free(one);
        at += r->len;
    }
    free(r);
    hf_handshake_wipe(&t.handshake);
    ck_assert_uint_eq(t.handshake.output_len, 0);
    return text;
}

/* Tells the answers, one value after another, until one decides. */
static enum hf_handshake_result tell(const char *bytes)
{
    struct hf_resp_node nodes[64];
    struct hf_resp_tape tape = {.nodes = nodes, .room = 64};
    enum hf_handshake_result answer = HANDSHAKE_MORE;
    struct hf_resp_parser parser;
    size_t len = strlen(bytes);
    uint32_t at = 0;

    hf_resp_init(&parser, NULL, 3);
    while (parser.pos < len) {
        ck_assert_int_eq(answer, HANDSHAKE_MORE);
        ck_assert_uint_lt(t.handshake.next_expected, t.handshake.expected_count);
        ck_assert_int_eq(hf_resp_parse(&parser, bytes, len, &tape), HF_OK);
        answer = hf_handshake_reply(&t.handshake, hf_resp_first(&tape, bytes, at));
        at = hf_resp_next_index(&tape, at);
    }
    return answer;
}

static enum hf_handshake_result converse(const struct row *row)
{
    enum hf_handshake_result answer = HANDSHAKE_MORE;

    for (int i = 0; i < STEPS && row->steps[i].sends; i++) {
        ck_assert_int_eq(answer, HANDSHAKE_MORE);
        ck_assert_str_eq(sent(), row->steps[i].sends);
        answer = tell(row->steps[i].answers);
    }
    return answer;
}

/* ---- the tests ---- */

START_TEST(each_server_gets_a_handshake_that_it_understands)
{
    const struct row *row = &rows[_i];
    enum hf_handshake_result answer;
    int64_t id = row->id ? row->id : 42;

    setup(row);
    answer = converse(row);
    ck_assert_msg(answer == (row->status < 0 ? HANDSHAKE_FAILED : HANDSHAKE_READY),
                  "%s: ended in %d, %s", row->what, (int)answer,
                  t.handshake.error.text);
    ck_assert_uint_eq(t.handshake.output_len, 0);
    if (row->protocol >= 0) /* -1: it was not chosen yet */
        ck_assert_int_eq(t.handshake.protocol,
                         row->protocol ? row->protocol : 3);
    ck_assert_int_eq(t.handshake.error.status, row->status);
    ck_assert_int_eq(t.handshake.is_failure_final, row->is_final);
    if (row->status < 0) {
        ck_assert_msg(strstr(t.handshake.error.text, row->says) != NULL,
                      "it says: %s", t.handshake.error.text);
        ck_assert_int_eq(t.predecessor.client_id, row->predecessor_id);
        ck_assert_str_eq(t.predecessor.run_id, row->predecessor_run_id
                                                   ? row->predecessor_run_id
                                                   : "");
    } else {
        ck_assert_int_eq(t.predecessor.client_id, id < 0 ? 0 : id);
        ck_assert_str_eq(t.predecessor.run_id,
                         row->run_id ? row->run_id : RUN_ID);
    }
}
END_TEST

/* Neither in the error nor anywhere else: not even its first half. */
START_TEST(password_is_sent_to_the_server_alone)
{
    static const char half[] = "open sesame";

    setup(&rows[_i]);
    (void)converse(&rows[_i]);
    hf_handshake_wipe(&t.handshake);
    ck_assert_ptr_null(
        memmem(&t.handshake, sizeof t.handshake, half, sizeof half - 1));
    ck_assert_ptr_null(
        memmem(&t.predecessor, sizeof t.predecessor, half, sizeof half - 1));
}
END_TEST

/* An attempt that failed leaves nothing to the next. */
START_TEST(next_attempt_starts_again)
{
    setup(&rows[_i]);
    (void)converse(&rows[_i]);
    t.predecessor = (struct hf_predecessor){.client_id = rows[_i].predecessor_id};
    set(t.predecessor.run_id, rows[_i].predecessor_run_id);
    ck_assert_int_eq(hf_handshake_start(&t.handshake), HF_OK);
    ck_assert(!t.handshake.is_failure_final);
    ck_assert_int_eq(converse(&rows[_i]),
                     rows[_i].status < 0 ? HANDSHAKE_FAILED : HANDSHAKE_READY);
}
END_TEST

/* The longest of all that can be told fits. */
START_TEST(longest_names_fit)
{
    static char user[HF_LOGIN_MAX + 1], password[HF_LOGIN_MAX + 1], name[256];
    struct row row = {.user = user, .password = password, .client_name = name,
                      .database = UINT32_MAX, .predecessor_id = INT64_MAX,
                      .predecessor_run_id = RUN_ID};

    memset(user, 'u', sizeof user - 1);
    memset(password, 'p', sizeof password - 1);
    memset(name, 'n', sizeof name - 1);
    for (row.mode = HANDSHAKE_RESP3; row.mode <= HANDSHAKE_RESP2; row.mode++) {
        bool is_resp2 = row.mode == HANDSHAKE_RESP2;
        const char *text;

        setup(&row);
        text = sent();
        ck_assert_ptr_nonnull(strstr(text, password));
        ck_assert_ptr_nonnull(strstr(text, "SELECT 4294967295"));
        ck_assert_int_eq(tell(is_resp2 ? OK ":42\r\n" : HELLO_OK), HANDSHAKE_MORE);
        ck_assert_int_eq(tell(OK INFO3 OK OK OK), HANDSHAKE_MORE);
        ck_assert_str_eq(sent(), "CLIENT KILL ID 9223372036854775807");
        ck_assert_int_eq(tell(":1\r\n"), HANDSHAKE_READY);
    }
}
END_TEST

static const char *const any_answers[] = {
    OK, HELLO_OK, INFO2, INFO3, BUSY, ":42\r\n", "_\r\n", "*0\r\n", "%0\r\n",
    "-NOAUTH no\r\n", "-NOPERM no\r\n", "-NOPROTO no\r\n", "-ERR no\r\n",
    "-WRONGPASS no\r\n", UNKNOWN("X", "'Y'"), "-\r\n", "+\r\n", "#t\r\n",
};
#define ANY_ANSWERS (sizeof any_answers / sizeof *any_answers)

/* Whatever a server answers, a handshake ends after at most HELLO and RESP2, each with its
 * settings, for the user and for the default user, and KILL. Random walks through the
 * answers, 3,000 from each first one. */
START_TEST(any_answers_lead_to_an_end)
{
    struct row row = {.user = "u", .password = PASSWORD, .client_name = "n",
                      .database = 1, .predecessor_id = 41,
                      .predecessor_run_id = RUN_ID};
    uint64_t seed = DICE_SEED + (uint64_t)_i;

    for (int walk = 0; walk < 3000; walk++) {
        enum hf_handshake_result answer = HANDSHAKE_MORE;
        int count = 0;

        setup(&row);
        while (answer == HANDSHAKE_MORE) {
            size_t choice =
                count == 0 ? (size_t)_i : dice_of(&seed, ANY_ANSWERS);

            if (t.handshake.output_len > 0)
                hf_handshake_wipe(&t.handshake);
            answer = tell(any_answers[choice]);
            if (++count > 2 * (6 + 7) + 1)
                ck_abort_msg("no end");
        }
    }
}
END_TEST

static TCase *case_servers(void)
{
    TCase *c = tcase_create("servers");

    tcase_add_loop_test(c, each_server_gets_a_handshake_that_it_understands, 0,
                        ROWS(rows));
    tcase_add_loop_test(c, password_is_sent_to_the_server_alone, 0, ROWS(rows));
    tcase_add_loop_test(c, next_attempt_starts_again, 0, ROWS(rows));
    tcase_add_test(c, longest_names_fit);
    tcase_add_loop_test(c, any_answers_lead_to_an_end, 0, ROWS(any_answers));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/handshake");

    suite_add_tcase(s, case_servers());
    return suite_run(s);
}
