/* Any list of strings, integers and doubles: each way to write it gives the
 * same bytes, exactly as many as announced; they parse to the same arguments,
 * and the numbers read back to the bit. */
#include "fuzz/encode_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arguments list;
    size_t len;
    char *bytes;

    arguments_init(&list, data, size);
    if (list.count == 0)
        return 0;
    bytes = encode(&list, size % (list.count + 1), &len);
    must_be_command(bytes, len, &list);
    must_parse_back(bytes, len, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (list.each[i].kind != BYTES)
            must_read_back(&list.each[i], list.argv[i].len);
    }
    free(bytes);
    return 0;
}
