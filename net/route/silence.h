/* Notices servers that fall silent (DISCOVER-7). Private to net/. [locked] */
#ifndef HF_SILENCE_H
#define HF_SILENCE_H

struct hf_router;

/* hf_silence_init  - nobody is watched.
 * hf_silence_watch - a command or a subscription is under way: while one is, a
 *                    server that falls silent makes the client ask for the map.
 * hf_silence_fini  - the end of it. */
void hf_silence_init(struct hf_router *router);
void hf_silence_watch(struct hf_router *router);
void hf_silence_fini(struct hf_router *router);

#endif
