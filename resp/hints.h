/* Private to resp/: what a compiler is told about a function.
 *
 * NO_INLINE  kept out of the functions that call it, whose registers it would take
 * COLD   for the slow way: small rather than fast */
#ifndef HF_RESP_HINTS_H
#define HF_RESP_HINTS_H

#if defined(__GNUC__)
#define NO_INLINE __attribute__((noinline))
#define COLD __attribute__((noinline, cold))
#else
#define NO_INLINE
#define COLD
#endif

#endif
