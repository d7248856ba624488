/* Detects servers that become silent (DISCOVER-7). Private to net/. [locked] */
#ifndef HF_SILENCE_H
#define HF_SILENCE_H

struct hf_router;

/* hf_silence_init  - watches no server.
 * hf_silence_watch - begins to watch, because a command or subscription is pending. While
 *                    one is, a server that becomes silent causes a request for the map.
 * hf_silence_fini  - ends watching. */
void hf_silence_init(struct hf_router *router);
void hf_silence_watch(struct hf_router *router);
void hf_silence_fini(struct hf_router *router);

#endif
