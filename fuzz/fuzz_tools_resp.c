/* Any bytes as a stream of replies: what `holdfast-resp` prints, and the error,
 * are the same however the bytes are cut; its text is UTF-8, its JSON is JSON;
 * memory follows the bytes. */
#include "fuzz/choices.h"
#include "fuzz/tools_outcome.h"
#include "net/base/utf8.h"
#include "net/net.h"
#include "tests/test_tools_resp_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces;
    struct input in;
    struct cuts cuts;
    bool is_json;

    if (!choose(data, size, &in, &cuts))
        return 0;
    is_json = data[0] & JSON;
    whole = decode(&in, size, is_json ? cli_print_json : cli_print_text);
    pieces = decode(&in, cuts.piece, is_json ? cli_print_json : cli_print_text);
    outcome_must_be(&pieces, &whole);
    must(!is_json || json_lines_ok(whole.text, whole.len));
    must(hf_utf8_ok(whole.text, whole.len));
    free(whole.text);
    free(pieces.text);
    return 0;
}
