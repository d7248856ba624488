/* Replies as servers send them, in streams of any length. Random, but the same
 * at every run. For bench_resp.c and tests/instructions/. */
#ifndef BENCH_RESP_STREAMS_H
#define BENCH_RESP_STREAMS_H

#include <stdint.h>
#include <stdio.h>

#include "tests/support/dice.h"

struct stream {
    const char *name;
    char *bytes;
    size_t len;
    size_t replies;
};

static void put_ok(FILE *out)
{
    fputs("+OK\r\n", out);
}

/* 1 to 19 digits, each length as often, half of them negative. */
static void put_integer(FILE *out)
{
    int digits = 1 + (int)dice(19);
    uint64_t low = 1;

    for (int i = 1; i < digits; i++)
        low *= 10;
    fprintf(out, ":%s%llu\r\n", dice(2) ? "-" : "",
            (unsigned long long)(low + dice(8 * low)));
}

static void put_bulk(FILE *out, int len)
{
    fprintf(out, "$%d\r\n", len);
    for (int i = 0; i < len; i++)
        fputc('a' + i % 26, out);
    fputs("\r\n", out);
}

static void put_16(FILE *out)
{
    put_bulk(out, 16);
}

static void put_1k(FILE *out)
{
    put_bulk(out, 1024);
}

static void put_64k(FILE *out)
{
    put_bulk(out, 65536);
}

/* 36 nodes: a map of 5 with two inner maps, a set, booleans, null, double,
 * verbatim string, big number, empty array, nested array. */
static void put_nested(FILE *out)
{
    fputs("%5\r\n"
          "$4\r\nname\r\n$10\r\nholdfast-1\r\n"
          "$5\r\nstats\r\n%3\r\n$4\r\nhits\r\n:12345\r\n$6\r\nmisses\r\n:7\r\n"
          "$5\r\nratio\r\n,0.9994\r\n"
          "$5\r\nflags\r\n~3\r\n#t\r\n#f\r\n_\r\n"
          "$4\r\ninfo\r\n%3\r\n$4\r\ntext\r\n=15\r\ntxt:Some string\r\n"
          "$3\r\nbig\r\n(3492890328409238509324850943850943825024385\r\n"
          "$5\r\nempty\r\n*0\r\n"
          "$4\r\nlist\r\n*4\r\n:1\r\n+two\r\n*3\r\n:3\r\n:4\r\n:5\r\n"
          "*2\r\n$5\r\nhello\r\n$-1\r\n",
          out);
}

static void put_nested_in_2(FILE *out)
{
    fputs("*10\r\n"
          "$4\r\nname\r\n$10\r\nholdfast-1\r\n"
          "$5\r\nstats\r\n*6\r\n$4\r\nhits\r\n:12345\r\n$6\r\nmisses\r\n:7\r\n"
          "$5\r\nratio\r\n$6\r\n0.9994\r\n"
          "$5\r\nflags\r\n*3\r\n:1\r\n:0\r\n$-1\r\n"
          "$4\r\ninfo\r\n*6\r\n$4\r\ntext\r\n$11\r\nSome string\r\n"
          "$3\r\nbig\r\n$43\r\n3492890328409238509324850943850943825024385\r\n"
          "$5\r\nempty\r\n*0\r\n"
          "$4\r\nlist\r\n*4\r\n:1\r\n+two\r\n*3\r\n:3\r\n:4\r\n:5\r\n"
          "*2\r\n$5\r\nhello\r\n$-1\r\n",
          out);
}

/* What a lock client sees. */
static void put_mix(FILE *out)
{
    switch (dice(8)) {
    case 0:
        fputs("$-1\r\n", out);
        return;
    case 1:
        fputs("*-1\r\n", out);
        return;
    case 2:
        fputs(":1\r\n", out);
        return;
    case 3:
        fprintf(out, ":%d\r\n", (int)dice(30000));
        return;
    case 4:
        fputs("+OK\r\n", out);
        return;
    case 5:
        put_bulk(out, 36);
        return;
    case 6:
        fputs("*3\r\n$7\r\nmessage\r\n$32\r\nredisson_lock__channel:{myLock1}"
              "\r\n$1\r\n0\r\n", out);
        return;
    }
    fputs("*2\r\n:1\r\n$38\r\n01234567-89ab-cdef-0123-456789abcdef:1\r\n", out);
}

static struct stream stream_make(const char *name, void (*put)(FILE *),
                                 long bytes)
{
    struct stream s = {.name = name};
    FILE *out = open_memstream(&s.bytes, &s.len);

    do {
        put(out);
        s.replies++;
    } while (ftell(out) < bytes);
    fclose(out);
    return s;
}

#endif
