/* SipHash-1-3: one round a word, three at the end. Source: Aumasson &
 * Bernstein, "SipHash: a fast short-input PRF". */
/* Tests: tests/test_net_hash.c. */
#include "net/base/hash.h"
#include "net/net.h"

struct hash_state {
    uint64_t a, b, c, d;
};

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix_one_round(struct hash_state *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate_left(s->b, 13) ^ s->a;
    s->d = rotate_left(s->d, 16) ^ s->c;
    s->a = rotate_left(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotate_left(s->b, 17) ^ s->c;
    s->d = rotate_left(s->d, 21) ^ s->a;
    s->c = rotate_left(s->c, 32);
}

/* `count` bytes, 8 at most, the first of them lowest. */
static uint64_t read_word(const unsigned char *p, size_t count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return word;
}

static void hash_word(struct hash_state *s, uint64_t word)
{
    s->d ^= word;
    mix_one_round(s);
    s->a ^= word;
}

uint64_t hf_hash(const struct hf_hash_key *key, const void *ptr, size_t len)
{
    const unsigned char *p = ptr;
    size_t rest = len % 8;
    struct hash_state s = {key->a ^ UINT64_C(0x736f6d6570736575),
                           key->b ^ UINT64_C(0x646f72616e646f6d),
                           key->a ^ UINT64_C(0x6c7967656e657261),
                           key->b ^ UINT64_C(0x7465646279746573)};

    for (; (size_t)(p - (const unsigned char *)ptr) + 8 <= len; p += 8)
        hash_word(&s, read_word(p, 8));
    hash_word(&s, read_word(p, rest) | (uint64_t)len << 56);
    s.c ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix_one_round(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
