/* The requests to a server, and the replies that RESP requires. Sources: RESP, RESP3;
 * where these are not definite, the replies of released servers. */
/* Tests: tests/test_tools_resp_check.c, tests/live/cli/test_resp_check.c. */
#include "tools/resp/probe.h"

/* One script for all checks, so that only one stays in the server's cache. */
const char cli_probe_script[] =
    "local answers = {\n"
    "nested = function() return {1, {2, {3, {}}}} end,\n"
    "deep = function() local t = {}\n"
    "  for i = 1, 64 do t = {t} end return t end,\n"
    "long = function() local t = {}\n"
    "  for i = 1, 1000 do t[i] = i end return t end,\n"
    "hole = function() return {1, nil, 3} end,\n"
    "yes = function() return true end,\n"
    "no = function() return false end,\n"
    "fraction = function() return 3.99 end,\n"
    "wide = function() return 9007199254740993 end,\n"
    "status = function() return {ok = 'a\\r\\nb'} end,\n"
    "code = function() return {err = 'MY code'} end,\n"
    "lower = function() return {err = 'lower case'} end,\n"
    "lines = function() return {err = 'MY a\\r\\n+b'} end,\n"
    "raised = function() error('x\\r\\n+INJECTED\\r\\n') end,\n"
    "within = function() return {1, {err = 'MY code'}, {ok = 'fine'}} end,\n"
    "yes3 = function() redis.setresp(3) return true end,\n"
    "no3 = function() redis.setresp(3) return false end,\n"
    "nil3 = function() redis.setresp(3) return nil end,\n"
    "map = function() redis.setresp(3)\n"
    "  return {map = {a = {set = {[{double = 1.5}] = true}}}} end,\n"
    "nan = function() redis.setresp(3) return {double = 0 / 0} end,\n"
    "small = function() redis.setresp(3) return {double = 5e-324} end,\n"
    "big = function() redis.setresp(3)\n"
    "  return {big_number = '-12345678901234567890'} end,\n"
    "verbatim = function() redis.setresp(3)\n"
    "  return {verbatim_string = {format = 'mkd', string = 'a\\r\\nb'}} end,\n"
    "}\n"
    "return answers[ARGV[1]]()\n";

const struct cli_probe cli_probes[] = {
    /* ---- the first answers of a connection ---- */
    {"a connection begins in RESP2", "T1", "GET KEY", .resp2 = "$-1"},
    {"HELLO", "T3", "HELLO PROTO", .resp2 = "*... $5 proto :2 ...",
     .resp3 = "%... $5 proto :3 ..."},
    {"HELLO 4 changes nothing", "T2", "HELLO 4\nGET KEY",
     .resp2 = "-NOPROTO ... / $-1", .resp3 = "-NOPROTO ... / _"},
    {"to RESP3 and back", "T1", "HELLO 3\nGET KEY\nHELLO 2\nGET KEY",
     .resp2 = "%... $5 proto :3 ... / _ / *... $5 proto :2 ... / $-1",
     .flags = CLI_PROBE_SWITCHES},
    {"to RESP2 and back", "T1", "HELLO 2\nGET KEY\nHELLO 3\nGET KEY",
     .resp3 = "*... $5 proto :2 ... / $-1 / %... $5 proto :3 ... / _",
     .flags = CLI_PROBE_SWITCHES},
    {"a command before AUTH", "T2", "PING\nQUIT",
     .resp2 = "-NOAUTH ... / +OK / end of stream",
     .absent = "+PONG / +OK / end of stream",
     .flags = CLI_PROBE_FRESH | CLI_PROBE_ENDS},
    {"HELLO 3 before AUTH", "T2", "HELLO 3\nQUIT",
     .resp2 = "-NOAUTH ... / +OK / end of stream",
     .absent = "%... / +OK / end of stream",
     .flags = CLI_PROBE_FRESH | CLI_PROBE_ENDS | CLI_PROBE_SWITCHES},

    /* ---- requests and the order of answers ---- */
    {"a request that comes byte by byte", "A3", "SET KEY value\nGET KEY",
     .both = "+OK / $5 value", .flags = CLI_PROBE_CUT},
    {"1000 requests at once", "V1", "ECHO NUMBER", .both = "$4 NUMBER",
     .flags = CLI_PROBE_THOUSAND},
    {"an argument of any bytes", "W2", "ECHO BYTES",
     .both = "$256 \\x00\\x01\\x02...\\xfd\\xfe\\xff"},
    {"a request that is not RESP", "A5", "*1\r\n$abc\r\n",
     .both = "-ERR Protocol error... / end of stream",
     .flags = CLI_PROBE_ENDS | CLI_PROBE_RAW},
    {"QUIT", "A6", "QUIT", .both = "+OK / end of stream",
     .flags = CLI_PROBE_ENDS},

    /* ---- simple strings and errors ---- */
    {"simple string", "B1", "PING", .both = "+PONG"},
    {"simple string with CR LF in it", "B1", "EVAL SCRIPT 0 status",
     .both = "+a  b"},
    {"error: unknown command", "B3", "HOLDFAST-NO-SUCH-COMMAND",
     .both = "-ERR unknown command ..."},
    {"error: wrong type", "B3", "SET KEY value\nLPUSH KEY x",
     .both = "+OK / -WRONGTYPE ..."},
    {"error: a script's own code", "B3", "EVAL SCRIPT 0 code",
     .both = "-MY code"},
    {"error: no code at all", "B3", "EVAL SCRIPT 0 lower",
     .both = "-lower case"},
    {"error with CR LF in it", "B1", "EVAL SCRIPT 0 lines",
     .both = "-MY a  +b"},
    {"error raised with CR LF in it", "V4", "EVAL SCRIPT 0 raised",
     .both = "-ERR ... x  +INJECTED..."},
    {"error inside EXEC", "B2", "MULTI\nSET KEY value\nLPUSH KEY x\nEXEC",
     .both = "+OK / +QUEUED / +QUEUED / *2 +OK -WRONGTYPE ..."},
    {"error inside a script's table", "B2", "EVAL SCRIPT 0 within",
     .both = "*3 :1 -MY code +fine"},

    /* ---- integers ---- */
    {"integer", "C1", "INCR KEY", .both = ":1"},
    {"integer: the highest", "C2", "SET KEY 9223372036854775806\nINCR KEY",
     .both = "+OK / :9223372036854775807"},
    {"integer: the lowest", "C2", "SET KEY -9223372036854775807\nDECR KEY",
     .both = "+OK / :-9223372036854775808"},
    {"integer: one too many", "C2", "SET KEY 9223372036854775807\nINCR KEY",
     .both = "+OK / -ERR ..."},
    {"integer of a script's 3.99", "C1", "EVAL SCRIPT 0 fraction",
     .both = ":3"},
    {"integer of a script's 2^53 + 1", "C1", "EVAL SCRIPT 0 wide",
     .both = ":9007199254740992"},
    {"integer of a script's true", "C1", "EVAL SCRIPT 0 yes", .both = ":1"},
    {"DEBUG PROTOCOL integer", "C1", "DEBUG PROTOCOL integer",
     .both = ":12345"},

    /* ---- bulk strings ---- */
    {"bulk string", "D1", "SET KEY value\nGET KEY", .both = "+OK / $5 value"},
    {"bulk string: empty", "D1", "SET KEY EMPTY\nGET KEY", .both = "+OK / $0 "},
    {"bulk string of 1 MiB", "D4", "ECHO MEGA", .both = "$1048576 xxx...xxx"},
    {"DEBUG PROTOCOL string", "D1", "DEBUG PROTOCOL string",
     .both = "$11 Hello World"},

    /* ---- null ---- */
    {"null: a missing key", "E2", "GET KEY", .resp2 = "$-1", .resp3 = "_"},
    {"null: BLPOP in vain", "E2", "BLPOP KEY 0.01", .resp2 = "*-1",
     .resp3 = "_"},
    {"null: EXEC after a change", "E2",
     "WATCH KEY\nSET KEY 1\nMULTI\nPING\nEXEC",
     .resp2 = "+OK / +OK / +OK / +QUEUED / *-1",
     .resp3 = "+OK / +OK / +OK / +QUEUED / _"},
    {"null: a script's false", "E2", "EVAL SCRIPT 0 no", .resp2 = "$-1",
     .resp3 = "_"},
    {"null: a script's nil, RESP3", "E2", "EVAL SCRIPT 0 nil3", .resp2 = "$-1",
     .resp3 = "_"},
    {"null: inside an array", "E2", "MGET KEY KEY", .resp2 = "*2 $-1 $-1",
     .resp3 = "*2 _ _"},
    {"DEBUG PROTOCOL null", "E3", "DEBUG PROTOCOL null", .resp2 = "$-1",
     .resp3 = "_"},

    /* ---- arrays ---- */
    {"array", "E1", "RPUSH KEY a b\nLRANGE KEY 0 -1",
     .both = ":2 / *2 $1 a $1 b"},
    {"array: empty", "E1", "LRANGE KEY 0 -1", .both = "*0"},
    {"array: an empty EXEC", "E1", "MULTI\nEXEC", .both = "+OK / *0"},
    {"array: nested", "E1", "EVAL SCRIPT 0 nested",
     .both = "*2 :1 *2 :2 *2 :3 *0"},
    {"array: 64 levels", "S3", "EVAL SCRIPT 0 deep",
     .both = "*1 *1 *1 ... *1 *0"},
    {"array: 1000 elements", "E1", "EVAL SCRIPT 0 long",
     .both = "*1000 :1 :2 ... :999 :1000"},
    {"array: ends at a table's nil", "E1", "EVAL SCRIPT 0 hole",
     .both = "*1 :1"},
    {"array: scores of a sorted set", "G1",
     "ZADD KEY 1.5 m\nZRANGE KEY 0 -1 WITHSCORES",
     .resp2 = ":1 / *2 $1 m $3 1.5", .resp3 = ":1 / *1 *2 $1 m ,1.5"},
    {"DEBUG PROTOCOL array", "E1", "DEBUG PROTOCOL array",
     .both = "*3 :0 :1 :2"},

    /* ---- booleans ---- */
    {"boolean: a script's true, RESP3", "F", "EVAL SCRIPT 0 yes3",
     .resp2 = ":1", .resp3 = "#t"},
    {"boolean: a script's false, RESP3", "F", "EVAL SCRIPT 0 no3",
     .resp2 = ":0", .resp3 = "#f"},
    {"DEBUG PROTOCOL true", "F", "DEBUG PROTOCOL true", .resp2 = ":1",
     .resp3 = "#t"},
    {"DEBUG PROTOCOL false", "F", "DEBUG PROTOCOL false", .resp2 = ":0",
     .resp3 = "#f"},

    /* ---- doubles ---- */
    {"double", "G1", "ZADD KEY 1.5 m\nZSCORE KEY m", .resp2 = ":1 / $3 1.5",
     .resp3 = ":1 / ,1.5"},
    {"double: 0.1", "G4", "ZADD KEY 0.1 m\nZSCORE KEY m",
     .resp2 = ":1 / $3 0.1 or :1 / $19 0.10000000000000001",
     .resp3 = ":1 / ,0.1 or :1 / ,0.10000000000000001"},
    {"double: the infinite ones", "G1",
     "ZADD KEY inf m -inf n\nZSCORE KEY m\nZSCORE KEY n",
     .resp2 = ":2 / $3 inf / $4 -inf", .resp3 = ":2 / ,inf / ,-inf"},
    {"double: not a number", "G3", "EVAL SCRIPT 0 nan",
     .resp2 = "$3 nan or $4 -nan", .resp3 = ",nan or ,-nan"},
    {"double: the smallest", "G4", "EVAL SCRIPT 0 small",
     .resp2 = "$6 5e-324 or $23 4.9406564584124654e-324",
     .resp3 = ",5e-324 or ,4.9406564584124654e-324"},
    {"DEBUG PROTOCOL double", "G1", "DEBUG PROTOCOL double",
     .resp2 = "$5 3.141 or $18 3.1415926535900001",
     .resp3 = ",3.141 or ,3.1415926535900001"},

    /* ---- big numbers and verbatim strings ---- */
    {"big number", "H", "EVAL SCRIPT 0 big",
     .resp2 = "$21 -12345678901234567890", .resp3 = "(-12345678901234567890",
     .absent = "*0"},
    {"DEBUG PROTOCOL bignum", "H", "DEBUG PROTOCOL bignum",
     .resp2 = "$37 1234567999999999999999999999999999999",
     .resp3 = "(1234567999999999999999999999999999999"},
    {"verbatim string", "I2", "EVAL SCRIPT 0 verbatim", .resp2 = "$4 a b",
     .resp3 = "=8 mkd:a b", .absent = "*0"},
    {"verbatim string: LOLWUT", "I2", "LOLWUT VERSION 5 1 1 1",
     .resp2 = "$... ...", .resp3 = "=... txt:..."},
    {"DEBUG PROTOCOL verbatim", "I2", "DEBUG PROTOCOL verbatim",
     .resp2 = "$25 This is a verbatim\\x0astring",
     .resp3 = "=29 txt:This is a verbatim\\x0astring"},

    /* ---- maps and sets ---- */
    {"map", "J1", "HSET KEY f v\nHGETALL KEY", .resp2 = ":1 / *2 $1 f $1 v",
     .resp3 = ":1 / %1 $1 f $1 v"},
    {"map: empty", "J1", "HGETALL KEY", .resp2 = "*0", .resp3 = "%0"},
    {"map: with a set of a double in it", "J2", "EVAL SCRIPT 0 map",
     .resp2 = "*2 $1 a *1 $3 1.5", .resp3 = "%1 $1 a ~1 ,1.5"},
    {"DEBUG PROTOCOL map", "J1", "DEBUG PROTOCOL map",
     .resp2 = "*6 :0 :0 :1 :1 :2 :0", .resp3 = "%3 :0 #f :1 #t :2 #f"},
    {"set", "J3", "SADD KEY a\nSMEMBERS KEY", .resp2 = ":1 / *1 $1 a",
     .resp3 = ":1 / ~1 $1 a"},
    {"set: empty", "J3", "SMEMBERS KEY", .resp2 = "*0", .resp3 = "~0"},
    {"DEBUG PROTOCOL set", "J3", "DEBUG PROTOCOL set", .resp2 = "*3 :0 :1 :2",
     .resp3 = "~3 :0 :1 :2"},

    /* ---- attributes ---- */
    {"DEBUG PROTOCOL attrib", "K1", "DEBUG PROTOCOL attrib",
     .resp2 = "$39 Some real reply following the attribute",
     .resp3 = "|1 $14 key-popularity *2 $7 key:123 :90 $39 Some real reply "
              "following the attribute"},

    /* ---- pushes and what RESP2 has in their place ---- */
    /* Not in RESP2, because it crashes Redis 6.0.16. */
    {"DEBUG PROTOCOL push", "L2", "DEBUG PROTOCOL push",
     .resp3 = ">2 $16 server-cpu-usage :42 / "
              "$40 Some real reply following the push reply or "
              "$40 Some real reply following the push reply / "
              ">2 $16 server-cpu-usage :42"},
    {"SUBSCRIBE", "L5", "SUBSCRIBE KEY\nUNSUBSCRIBE KEY",
     .resp2 = "*3 $9 subscribe KEY :1 / *3 $11 unsubscribe KEY :0",
     .resp3 = ">3 $9 subscribe KEY :1 / >3 $11 unsubscribe KEY :0"},
    {"PSUBSCRIBE", "L5", "PSUBSCRIBE KEY\nPUNSUBSCRIBE KEY",
     .resp2 = "*3 $10 psubscribe KEY :1 / *3 $12 punsubscribe KEY :0",
     .resp3 = ">3 $10 psubscribe KEY :1 / >3 $12 punsubscribe KEY :0"},
    {"SSUBSCRIBE", "L5", "SSUBSCRIBE KEY\nSUNSUBSCRIBE KEY",
     .resp2 = "*3 $10 ssubscribe KEY :1 / *3 $12 sunsubscribe KEY :0",
     .resp3 = ">3 $10 ssubscribe KEY :1 / >3 $12 sunsubscribe KEY :0"},
    {"UNSUBSCRIBE of nothing", "L5", "UNSUBSCRIBE",
     .resp2 = "*3 $11 unsubscribe $-1 :0", .resp3 = ">3 $11 unsubscribe _ :0"},
    {"SUBSCRIBE inside EXEC", "L6",
     "MULTI\nSUBSCRIBE KEY\nGET KEY\nEXEC\nUNSUBSCRIBE KEY",
     .resp2 = "+OK / +QUEUED / +QUEUED / *2 *3 $9 subscribe KEY :1 $-1 / "
              "*3 $11 unsubscribe KEY :0",
     .resp3 = "+OK / +QUEUED / +QUEUED / *2 >3 $9 subscribe KEY :1 _ / "
              ">3 $11 unsubscribe KEY :0"},
    {"PING of a subscriber", "L3", "SUBSCRIBE KEY\nPING\nUNSUBSCRIBE KEY",
     .resp2 = "*3 $9 subscribe KEY :1 / *2 $4 pong $0  / "
              "*3 $11 unsubscribe KEY :0",
     .resp3 = ">3 $9 subscribe KEY :1 / +PONG / >3 $11 unsubscribe KEY :0"},
    {"a message", "L1", "SUBSCRIBE KEY\n& PUBLISH KEY hi\nUNSUBSCRIBE KEY",
     .resp2 = "*3 $9 subscribe KEY :1 / *3 $7 message KEY $2 hi / "
              "*3 $11 unsubscribe KEY :0",
     .resp3 = ">3 $9 subscribe KEY :1 / >3 $7 message KEY $2 hi / "
              ">3 $11 unsubscribe KEY :0"},
    {"a message to oneself", "L2",
     "SUBSCRIBE KEY\nPUBLISH KEY hi\nUNSUBSCRIBE KEY",
     .resp3 = ">3 $9 subscribe KEY :1 / :1 / >3 $7 message KEY $2 hi / "
              ">3 $11 unsubscribe KEY :0 or >3 $9 subscribe KEY :1 / "
              ">3 $7 message KEY $2 hi / :1 / >3 $11 unsubscribe KEY :0"},
    {"an invalidation", "L2",
     "CLIENT TRACKING ON\nGET KEY\n& SET KEY 1\nCLIENT TRACKING OFF",
     .resp3 = "+OK / _ / >2 $10 invalidate *1 KEY / +OK"},
    {"an invalidation, redirected", "L1",
     "SUBSCRIBE __redis__:invalidate\n& CLIENT TRACKING ON REDIRECT ID\n"
     "& GET KEY\n& SET KEY 1\nUNSUBSCRIBE __redis__:invalidate",
     .resp2 = "*3 $9 subscribe $20 __redis__:invalidate :1 / "
              "*3 $7 message $20 __redis__:invalidate *1 KEY / "
              "*3 $11 unsubscribe $20 __redis__:invalidate :0"},
};

const size_t cli_probe_count = sizeof cli_probes / sizeof *cli_probes;
