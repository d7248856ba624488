/* Private to resp/: what a compiler is told about a function.
 *
 * APART  kept out of the functions that call it, whose registers it would take
 * RARE   for the slow way: small rather than fast */
#ifndef HF_RESP_HINTS_H
#define HF_RESP_HINTS_H

#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define RARE __attribute__((noinline, cold))
#else
#define APART
#define RARE
#endif

#endif
