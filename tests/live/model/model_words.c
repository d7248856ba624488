/* Random words and scripts: see test_model_words.h. */
#include "tests/live/model/test_model_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/live/model/test_model_lines.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

static const char *const locks[] = {"order:42", "shop{eu}lock", "b"};
static const char *const owners[] = {
    "6e3814a1-e847-452b-a982-45baf93a1df2:1",
    "6e3814a1-e847-452b-a982-45baf93a1df2:2",
    "0c1d2e3f-a0b1-42c3-94d5-e6f708192a3b:-7"};
static const char *const keys[] = {"order:42", "b", "k1", "k2", "k3"};
static const char *const fields[] = {"mode", "f", "g", "",
                                     "6e3814a1-e847-452b-a982-45baf93a1df2:1"};
static const char *const values[] = {"v",    "0", "1",    "-1",  "12",
                                     "3.5",  "",  "read", "write",
                                     "9223372036854775807"};
static const char *const leases[] = {"100000", "200000", "3600000", "0", "-1",
                                     "100000", "300000", "x", "1e5",
                                     "9223372036854775807"};
static const char *const numbers[] = {"0", "1", "2", "-1", "10", "x",
                                      "9223372036854775807"};
static const char *const scores[] = {"0",    "1",   "-2.5", "1e3", "inf",
                                     "-inf", "(1",  "x",    "3",
                                     "1795214330870"};

static const char *one_of(const char *const *list, int n)
{
    return list[dice((uint64_t)n)];
}

/* What one template is about. */
static const char *lock, *owner;

static char text[8192];
static size_t text_n;

static void put(const char *format, const char *a, const char *b)
{
    text_n += (size_t)snprintf(text + text_n, sizeof text - text_n, format, a,
                               b);
}

/* pfx and sfx of WIRE 2.2. */
static void prefixed(const char *prefix)
{
    put(strchr(lock, '{') ? "%s:%s" : "%s:{%s}", prefix, lock);
}

static void base(void)
{
    put(strchr(lock, '{') ? "%s%s" : "{%s}%s", lock, "");
}

static void put_of_lock(char letter)
{
    switch (letter) {
    case 'c': prefixed("redisson_lock__channel"); break;
    case 'r': prefixed("redisson_rwlock"); break;
    case 'q': prefixed("redisson_lock_queue"); break;
    case 'z': prefixed("redisson_lock_timeout"); break;
    case 'T': prefixed("redisson_lock_token"); break;
    case 'L':
        prefixed("redisson_unlock_latch");
        put(":%s%s", dice(2) ? "1" : "2", "");
        break;
    case 'b': base(); break;
    default: base(), put(":%s:rwlock_timeout%s", owner, ""); break;
    }
}

/* Redis 6.0 lets the greatest number overflow. */
static const char *lease(void)
{
    int n = ROWS(leases) - (twins_version() == MODEL_REDIS_6_0);

    return one_of(leases, n);
}

static void put_letter(char letter)
{
    switch (letter) {
    case 'l': put("%s%s", lock, ""); break;
    case 'o': put("%s%s", owner, ""); break;
    case 'w': put("%s:write%s", owner, ""); break;
    case 'k': put("%s%s", one_of(keys, ROWS(keys)), ""); break;
    case 'f': put("%s%s", one_of(fields, ROWS(fields)), ""); break;
    case 'v': put("%s%s", one_of(values, ROWS(values)), ""); break;
    case 't': put("%s%s", lease(), ""); break;
    case 'i': put("%s%s", one_of(numbers, ROWS(numbers)), ""); break;
    case 's': put("%s%s", one_of(scores, ROWS(scores)), ""); break;
    case 'n': put("%s%s", dice(4) ? "1" : dice(2) ? "2" : "0", ""); break;
    case 'N': put("179521433%s%s", dice(2) ? "0870" : "5999", ""); break;
    case 'p': put("%s%s", dice(4) ? "PUBLISH" : "publish", ""); break;
    default: put_of_lock(letter); break;
    }
}

/* What came after 6.0. */
static bool is_new(const char *line)
{
    static const char *const words[] = {" GET", "exat ", "zadd %z gt", "zadd %z xx",
                                        "%t nx", "%t gt", "%t LT", "%t zz"};

    for (int i = 0; i < ROWS(words); i++)
        if (strstr(line, words[i]))
            return true;
    return false;
}

const char *random_command(void)
{
    const char *line;

    do
        line = one_of(command_lines, ROWS(command_lines));
    while (twins_version() == MODEL_REDIS_6_0 && is_new(line));
    return line;
}

/* Words stand in `text`, each with a NUL behind it. */
struct words words_of_template(const char *template)
{
    struct words w = {.count = 0};

    lock = one_of(locks, ROWS(locks));
    owner = one_of(owners, ROWS(owners));
    text_n = 0;
    while (*template) {
        w.p[w.count] = text + text_n;
        for (; *template && *template != ' '; template++) {
            if (*template == '%')
                put_letter(*++template);
            else
                text[text_n++] = *template;
        }
        w.n[w.count] = (size_t)(text + text_n - w.p[w.count]);
        w.count++;
        text[text_n++] = '\0';
        template += *template == ' ';
    }
    return w;
}

void words_insert(struct words *w, const char *a, const char *b, size_t b_len)
{
    memmove(w->p + 2, w->p, (size_t)w->count * sizeof *w->p);
    memmove(w->n + 2, w->n, (size_t)w->count * sizeof *w->n);
    w->count += 2;
    w->p[0] = a;
    w->n[0] = strlen(a);
    w->p[1] = b;
    w->n[1] = b_len;
}

/* ---- scripts ---- */

static char lua[16384];
static size_t lua_n;

static void add(const char *s)
{
    lua_n += (size_t)snprintf(lua + lua_n, sizeof lua - lua_n, "%s", s);
}

/* redis.call('get', 'k1') of a random command. */
static void add_call(void)
{
    struct words w = words_of_template(random_command());

    add(dice(3) ? "redis.call(" : "redis.pcall(");
    for (int i = 0; i < w.count; i++) {
        add(i ? ", '" : "'");
        add(w.p[i]);
        add("'");
    }
    add(")");
}

const char *random_lua(void)
{
    int lines = 1 + (int)dice(3);
    char name[32];

    lua_n = 0;
    for (int i = 1; i <= 3; i++) {
        (void)snprintf(name, sizeof name, "local x%d = ", i);
        add(name);
        if (i > lines)
            add(lua_values[dice(ROWS(lua_values))]);
        else
            add_call();
        add("\n");
    }
    add(lua_returns[dice(ROWS(lua_returns))]);
    return lua;
}
