/* The steps of the case that is tried now. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/exhaust/trail.h"
#include "tests/support/must.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* see trail_push */

#define STEPS_MAX 100

static struct {
    const char *text;
    unsigned a, b;
} steps[STEPS_MAX];
static int count;

uint64_t trail_cases;

void trail_push(const char *text, unsigned a, unsigned b)
{
    must(count < STEPS_MAX);
    steps[count].text = text;
    steps[count].a = a;
    steps[count++].b = b;
}

void trail_pop(void)
{
    count--;
}

void trail_fail(const char *promise)
{
    printf("not ok 1 - tests/exhaust:after %llu cases:%s\n",
           (unsigned long long)trail_cases, promise);
    for (int i = 0; i < count; i++) {
        printf("  ");
        printf(steps[i].text, steps[i].a, steps[i].b);
        printf("\n");
    }
    exit(1);
}
