/* A C11 program that has nothing of holdfast but the pair hf_resp.h and
 * hf_resp.c: writes a command, reads a reply that comes in two pieces, looks
 * into it. All memory is on its stack, of a size known before. */
#include <stdio.h>
#include <string.h>

#include "hf_resp.h"

#define NODES 16

static int failed;

static void expect(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "embed.c: not so: %s\n", what);
    failed = 1;
}

static void write_a_command(void)
{
    static const char wire[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n42\r\n";
    const struct hf_resp_arg argv[] = {{"SET", 3}, {"k", 1}, {"42", 2}};
    char bytes[64];
    size_t size = hf_resp_command_size(argv, 3);
    char *end = hf_resp_put_command(bytes, argv, 3);

    expect(size == sizeof wire - 1, "the size announced");
    expect((size_t)(end - bytes) == size, "the size written");
    expect(memcmp(bytes, wire, size) == 0, "the bytes written");
}

static void look_into(struct hf_resp_value reply)
{
    struct hf_resp_value version, load;
    double number = 0;

    expect(hf_resp_type(reply) == HF_RESP_MAP, "a map");
    expect(hf_resp_count(reply) == 4, "of two pairs");
    expect(hf_resp_map_get(reply, "version", 7, &version) == HF_OK &&
               hf_resp_is_text(version, "8.0.2", 5),
           "the version");
    expect(hf_resp_map_get(reply, "load", 4, &load) == HF_OK &&
               hf_resp_double(load, &number) == HF_OK && number == 0.5,
           "the load");
    expect(hf_resp_map_get(reply, "port", 4, &load) == HF_E_TYPE, "no port");
}

static void read_a_reply(void)
{
    static const char reply[] =
        "%2\r\n+version\r\n$5\r\n8.0.2\r\n+load\r\n,5e-1\r\n";
    struct hf_resp_node nodes[NODES];
    struct hf_resp_tape tape = {nodes, 0, NODES};
    struct hf_resp_parser parser;
    size_t len = sizeof reply - 1;

    hf_resp_init(&parser, NULL, 3);
    expect(hf_resp_parse(&parser, reply, 20, &tape) == HF_RESP_MORE, "more");
    expect(hf_resp_parse(&parser, reply, len, &tape) == HF_OK, "a value");
    expect(parser.pos == len, "all bytes used");
    look_into(hf_resp_first(&tape, reply, 0));
}

static void refuse_what_is_no_reply(void)
{
    struct hf_resp_node nodes[NODES];
    struct hf_resp_tape tape = {nodes, 0, NODES};
    struct hf_resp_parser parser;

    hf_resp_init(&parser, NULL, 2);
    expect(hf_resp_parse(&parser, "+OK\nx", 5, &tape) == HF_E_PROTOCOL, "no");
    expect(parser.error.offset == 3, "at the LF");
    expect(strcmp(hf_resp_status_name(HF_E_PROTOCOL), "HF_E_PROTOCOL") == 0,
           "its name");
}

int main(void)
{
    write_a_command();
    read_a_reply();
    refuse_what_is_no_reply();
    return failed;
}
