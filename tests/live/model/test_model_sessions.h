/* Conversations of the trial of the model, line by line. In front of a line:
 *     ~   only the type of the reply is compared
 *     *   the order of its elements does not matter
 *     2   it is the second connection's
 *     !   bytes as they are, one reply;  -  the same, and no reply
 *     ?   nothing is asked: one more reply of the first connection
 *     @   a state of both servers: full, roomy, replica, master */
#ifndef TEST_MODEL_SESSIONS_H
#define TEST_MODEL_SESSIONS_H

#define SESSION_LINES 40

struct session {
    const char *name;
    const char *password;
    const char *lines[SESSION_LINES];
};

#define OWN "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"

static const struct session sessions[] = {
    {"handshakes", NULL,
     {"~HELLO", "~HELLO 3", "PING", "GET none", "~HELLO 2", "GET none",
      "HELLO 4", "HELLO x", "HELLO 3 AUTH", "HELLO 3 FOO", "HELLO 3 AUTH x y",
      "~HELLO 3 AUTH default wrong", "~HELLO 3 SETNAME me", "CLIENT GETNAME",
      "CLIENT SETNAME you", "CLIENT GETNAME", "CLIENT", "CLIENT FOO",
      "~CLIENT ID", "CLIENT SETNAME", "SELECT 1", "SELECT 99", "SELECT x",
      "AUTH", "AUTH a b c", "AUTH x", "AUTH default x", "ECHO", "ECHO a",
      "RESET", "GET none", "PING a b", "QUIT"}},
    {"password", "secret",
     {"PING", "GET a", "HELLO 3", "HELLO", "NOSUCH", "GET", "AUTH wrong",
      "AUTH default wrong", "AUTH other secret", "SUBSCRIBE a", "EVAL x 0",
      "CLIENT SETNAME a", "HELLO 3 AUTH default wrong", "AUTH secret", "PING",
      "~HELLO 3 AUTH default secret", "RESET", "PING", "QUIT"}},
    {"transactions", NULL,
     {"EXEC", "DISCARD", "MULTI", "MULTI", "SET a 1", "INCR a", "LPUSH a x",
      "EXEC", "MULTI", "SET a 5", "DISCARD", "GET a", "MULTI", "NOSUCH",
      "SET a 2", "EXEC", "GET a", "MULTI", "GET", "EXEC", "MULTI",
      "PUBLISH c x", "EVAL return(1) 0", "EXEC", "MULTI", "EXEC"}},
    {"channels in RESP2", NULL,
     {"SUBSCRIBE a", "2PUBLISH a hi", "?", "GET x", "PING", "PING x",
      "SUBSCRIBE a", "2PUBSUB NUMSUB a b", "2PUBLISH b no", "SSUBSCRIBE s",
      "2SPUBLISH s hi", "?", "2PUBLISH s no", "2PUBSUB SHARDNUMSUB s",
      "2PUBSUB CHANNELS", "2PUBSUB SHARDCHANNELS *", "UNSUBSCRIBE a",
      "GET x", "SUNSUBSCRIBE", "GET x", "UNSUBSCRIBE", "UNSUBSCRIBE z",
      "SUBSCRIBE", "PUBSUB", "PUBSUB NUMSUB", "SPUBLISH s x", "PUBLISH a x"}},
    {"channels in RESP3", NULL,
     {"~HELLO 3", "SUBSCRIBE a", "2PUBLISH a hi", "?", "GET x", "PING",
      "PING x", "-*3\r\n$9\r\nSUBSCRIBE\r\n$1\r\nb\r\n$1\r\nc\r\n", "?", "?",
      "2PUBLISH c hi", "?", "SSUBSCRIBE s", "2SPUBLISH s hi", "?",
      "-*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$1\r\nx\r\n", "?", "?",
      "UNSUBSCRIBE b", "SUNSUBSCRIBE", "RESET", "UNSUBSCRIBE"}},
    {"scripts by name", NULL,
     {"EVALSHA " OWN " 0", "EVALSHA zz 0", "EVAL return(1) 0",
      "EVALSHA " OWN " 0", "EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0",
      "SCRIPT EXISTS " OWN " zz", "SCRIPT LOAD return(2)", "SCRIPT LOAD return(",
      "SCRIPT FLUSH", "EVALSHA " OWN " 0", "SCRIPT", "SCRIPT FOO",
      "SCRIPT FLUSH x", "SCRIPT KILL", "EVAL return(1) 1", "EVAL return(1) -1",
      "EVAL return(1) x", "EVAL return(1)", "EVALSHA " OWN " 1"}},
    {"permissions", NULL,
     {"ACL SETUSER app on >pw ~app:* &ch* +@all -pexpire -client|id",
      "AUTH app bad", "AUTH app pw", "ACL WHOAMI", "SET app:1 x", "SET b x",
      "GET b", "DEL app:1 b", "PEXPIRE app:1 1", "CLIENT ID", "~CLIENT INFO",
      "PUBLISH ch1 x", "PUBLISH other x", "SUBSCRIBE other", "SPUBLISH ch x",
      "EVAL return(redis.call('pexpire','app:1',5)) 0",
      "EVAL return(redis.call('get','b')) 0", "EVAL return(1) 1 b",
      "EVAL return(redis.pcall('publish','other','x')) 0",
      "EVAL return(redis.pcall('hset','b','f','v')) 0",
      "2ACL SETUSER app -@all +get +ping", "SET app:1 y", "GET app:1",
      "~HELLO 3", "PING", "EVAL return(1) 0", "2ACL SETUSER app off",
      "GET app:1", "2AUTH app pw", "2ACL DELUSER app nobody",
      "2ACL SETUSER x foo", "2ACL", "2ACL FOO"}},
    {"full", NULL,
     {"SET a 1", "@full", "SET a 2", "GET a", "DEL b", "HSET h f v",
      "PEXPIRE a 1000000", "EVAL return(redis.call('set','a','3')) 0",
      "EVAL return(redis.pcall('hset','h','f','v')) 0", "EVAL return(1) 0",
      "EVAL redis.call('del','a');return(redis.call('set','a','3')) 0",
      "PUBLISH c x", "GET a", "@roomy", "SET a 2"}},
    {"replica", NULL,
     {"SET a 1", "@replica", "SET a 2", "GET a", "DEL a", "PUBLISH c x",
      "EVAL return(redis.call('set','a','3')) 0",
      "EVAL return(redis.pcall('del','a')) 0",
      "EVAL return(redis.call('get','a')) 0", "WAIT 0 0", "SELECT 1", "@master",
      "SELECT 0", "SET a 2", "WAIT 0 0", "WAIT 0 -1", "WAIT x 0", "WAIT 0 x",
      "WAIT"}},
    {"killed", NULL,
     {"CLIENT KILL ID 999999", "CLIENT KILL ID 0", "CLIENT KILL ID x",
      "CLIENT KILL FOO x", "CLIENT KILL", "CLIENT KILL ID",
      "2CLIENT KILL TYPE normal SKIPME yes MAXAGE", "PING"}},
    {"lines and broken requests", NULL,
     {"!PING\r\n", "!ECHO  a\r\n", "-\r\n", "!*1\r\n$4\r\nPING\r\n",
      "-*0\r\n", "-*-1\r\n", "!PING\n", "!*1\r\n+PING\r\n"}},
    {"a length that is none", NULL, {"!*x\r\n"}},
    {"a bulk length that is none", NULL, {"!*1\r\n$-5\r\n"}},
    {"configuration", NULL,
     {"CONFIG GET maxmemory-policy", "CONFIG GET lua-time-limit",
      "CONFIG SET maxmemory-policy noeviction", "CONFIG", "CONFIG FOO",
      "CONFIG GET", "CONFIG GET no-such-parameter", "INFO nosuchsection",
      "~INFO", "~ROLE", "~TIME", "DBSIZE x", "~CLIENT LIST"}},
};

#endif
