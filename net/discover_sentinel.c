#include "net/router.h"
hf_status hf_sentinel_ask(struct hf_server *s, int64_t d){(void)s;(void)d;return HF_E_LIMIT;}
