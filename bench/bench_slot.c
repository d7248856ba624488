/* Slots of keys: ns per key beside the byte-table CRC that other clients use,
 * and how many times faster ours is.
 *
 *     bench_slot [rounds]
 *
 * Each key is chosen by the last result: what is measured is how long one waits
 * for a slot. Each round runs both, one after the other; the best of all rounds
 * is printed, for whatever else the machine does can only add to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/net.h"
#include "net/route/slot.h"
#include "tests/support/dice.h"

#define KEYS 64
#define BYTES_A_ROUND (1u << 19)

static const size_t lengths[] = {8, 16, 20, 32, 64, 256, 1024};
#define LENGTHS (sizeof lengths / sizeof *lengths)

/* ---- a byte table ---- */

static uint16_t table[256];

static void make_table(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned crc = byte << 8;

        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
        table[byte] = (uint16_t)crc;
    }
}

/* Its search for a tag is ours: the CRC alone is compared. */
static uint16_t slot_by_table(const void *key, size_t len)
{
    const unsigned char *p = key;
    uint16_t crc = 0;

    if (len > 0 && memchr(key, '{', len))
        return 0;
    for (; len > 0; p++, len--)
        crc = (uint16_t)(crc << 8 ^ table[(crc >> 8 ^ *p) & 255]);
    return crc % HF_SLOTS;
}

/* ---- measuring ---- */

static char keys[KEYS][1024];
static unsigned sink; /* what is computed is used */

static void deal(void)
{
    for (size_t i = 0; i < KEYS; i++)
        for (size_t at = 0; at < sizeof keys[i]; at++)
            keys[i][at] = (char)('0' + dice(64)); /* no brace among them */
}

static double ns(uint16_t (*slot)(const void *, size_t), size_t len)
{
    size_t count = BYTES_A_ROUND / (len + 64);
    struct timespec from, to;
    unsigned last = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < count; i++)
        last = slot(keys[(last + i) % KEYS], len);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    sink += last;
    return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
            (double)(to.tv_nsec - from.tv_nsec)) /
           (double)count;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void measure(size_t len, size_t rounds)
{
    double ours = 1e9, theirs = 1e9;

    for (size_t i = 0; i < rounds; i++) {
        ours = least(ours, ns(hf_slot_of, len));
        theirs = least(theirs, ns(slot_by_table, len));
    }
    printf("%5zu B  slot %7.1f   byte table %7.1f   %5.1f times\n", len, ours,
           theirs, theirs / ours);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;

    if (rounds < 1) {
        fprintf(stderr, "usage: %s [rounds]\n", argv[0]);
        return EXIT_FAILURE;
    }
    make_table();
    deal();
    printf("ns per key, best of %zu rounds\n", rounds);
    for (size_t i = 0; i < LENGTHS; i++)
        measure(lengths[i], rounds);
    return sink == 1 ? EXIT_FAILURE : EXIT_SUCCESS;
}
