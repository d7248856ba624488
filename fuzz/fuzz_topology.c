/* What clusters and sentinels say: texts (redirections, +switch-master) and
 * replies (slot maps, CLUSTER INFO, addresses, roles). The first byte chooses.
 * What is taken is whole and says what stands there; what is refused leaves no
 * trace but an error. */
#include "fuzz/topology_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 1, RESP2 = 2, WITH_TLS = 4 };

static void take_text(const char *text, size_t len)
{
    must_be_redirection_or_none(text, len);
    must_be_switch_or_none(text, len);
}

static void take_reply(struct hf_resp_value reply, bool is_tls)
{
    must_be_map_or_none(hf_slot_map_from_slots, reply, is_tls, true);
    must_be_map_or_none(hf_slot_map_from_shards, reply, is_tls, false);
    must_be_words_or_none(reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;
    struct hf_resp_tape tape = {NULL, 0, (uint32_t)(size / 3 + 1)};
    struct hf_resp_parser p;

    if (size == 0)
        return 0;
    if (data[0] & TEXT) {
        take_text(bytes, size - 1);
        return 0;
    }
    tape.nodes = must_alloc(tape.room * sizeof *tape.nodes);
    hf_resp_init(&p, NULL, data[0] & RESP2 ? 2 : 3);
    if (hf_resp_parse(&p, bytes, size - 1, &tape) == HF_OK)
        take_reply(hf_resp_first(&tape, bytes, 0), data[0] & WITH_TLS);
    free(tape.nodes);
    return 0;
}
