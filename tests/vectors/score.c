/* The score of a parser: every vector in every way, in processes of their own,
 * which may crash, hang or want all memory. */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/vectors/vectors.h"

/* Of a child. A parser that wants more for these vectors believes promises. */
#define ADDRESS_SPACE ((rlim_t)1 << 30)

/* Exit codes of a child; any other was not its own will. */
enum { KEPT = 40, DEVIATES, NOT_ASKED };

/* ---- the child ---- */

static void set_limits(unsigned seconds)
{
    const struct rlimit memory = {ADDRESS_SPACE, ADDRESS_SPACE};
    const struct rlimit core = {0, 0};

    setrlimit(RLIMIT_CORE, &core);
    if (vec_address_space())
        setrlimit(RLIMIT_AS, &memory);
    signal(SIGALRM, SIG_DFL);   /* whatever the parent does at one */
    alarm(seconds);
}

/* Says why on standard error, where a dying library puts its last words too. */
static _Noreturn void run_child(struct vec_trial *t, const struct vec_way *way,
                                unsigned seconds, int why)
{
    static const int codes[] = {[VEC_KEPT] = KEPT, [VEC_DEVIATES] = DEVIATES,
                                [VEC_NOT_ASKED] = NOT_ASKED};
    enum vec_outcome outcome;

    dup2(why, STDERR_FILENO);
    set_limits(seconds);
    t->want = vec_ask(t->adapter, t->vector);
    outcome = way->run(t);
    if (outcome == VEC_DEVIATES)
        fputs(t->why, stderr);
    _exit(codes[outcome]);
}

/* ---- the parent ---- */

/* What came, on one line. */
static void read_why(int from, char *why, size_t room)
{
    FILE *in = fdopen(from, "r");
    size_t len = fread(why, 1, room - 1, in);

    why[len] = '\0';
    for (char *at = why; (at = strpbrk(at, "\r\n")) != NULL;)
        *at = ' ';
    while (fgetc(in) != EOF)
        ;                  /* a child that says more than fits may go on */
    fclose(in);
}

static enum vec_outcome died(struct vec_trial *t, int status)
{
    char words[VEC_WHY_MAX / 2];

    snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1, t->why);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(t->why, sizeof t->why, "it comes to no end");
    else if (WIFSIGNALED(status))
        snprintf(t->why, sizeof t->why, "it dies: %s %s",
                 strsignal(WTERMSIG(status)), words);
    else
        snprintf(t->why, sizeof t->why, "it ends the program: code %d %s",
                 WEXITSTATUS(status), words);
    return VEC_DIED;
}

static enum vec_outcome judge(struct vec_trial *t, int status)
{
    switch (WIFEXITED(status) ? WEXITSTATUS(status) : 0) {
    case KEPT: return VEC_KEPT;
    case NOT_ASKED: return VEC_NOT_ASKED;
    case DEVIATES: return VEC_DEVIATES;
    }
    return died(t, status);
}

static enum vec_outcome run_apart(struct vec_trial *t,
                                  const struct vec_way *way, unsigned seconds)
{
    int pipes[2], status = 0;
    pid_t child;

    if (pipe(pipes) < 0 || (child = fork()) < 0) {
        perror("vectors");
        exit(2);
    }
    if (child == 0) {
        close(pipes[0]);
        run_child(t, way, seconds, pipes[1]);
    }
    close(pipes[1]);
    read_why(pipes[0], t->why, sizeof t->why);
    waitpid(child, &status, 0);
    return judge(t, status);
}

/* ---- the sums ---- */

struct sum {
    unsigned kept;
    unsigned asked;
};

/* By protocol: [0] is RESP2, [1] RESP3. */
struct sums {
    struct sum ways[VEC_WAYS][2];
    struct sum all[2];
    struct sum lines;
};

static void count(struct sum *sum, bool is_kept)
{
    sum->asked++;
    sum->kept += is_kept;
}

/* In all ways; false if one of them deviates. What dies of the whole vector
 * would die of its pieces. */
static bool score_vector(struct vec_trial *t, unsigned seconds,
                         struct sums *sums, FILE *out)
{
    int protocol = t->vector->protocol;
    bool is_kept = true, is_alive = true;

    for (int i = 0; i < VEC_WAYS && is_alive; i++) {
        enum vec_outcome outcome = run_apart(t, &vec_ways[i], seconds);

        if (outcome == VEC_NOT_ASKED)
            continue;
        count(&sums->ways[i][protocol - 2], outcome == VEC_KEPT);
        if (outcome == VEC_KEPT)
            continue;
        is_kept = false;
        is_alive = i != VEC_WHOLE || outcome != VEC_DIED;
        fprintf(out, "%s | RESP%d | %s | %s\n", t->vector->name, protocol,
                vec_ways[i].name, t->why);
    }
    count(&sums->all[protocol - 2], is_kept);
    return is_kept;
}

static void put_sum(FILE *out, const char *name, const struct sum sum[2],
                    const char *promise)
{
    fprintf(out, "  %-8s %3u of %3u   %3u of %3u   %s\n", name, sum[0].kept,
            sum[0].asked, sum[1].kept, sum[1].asked, promise);
}

static void put_sums(FILE *out, const char *name, const struct sums *sums)
{
    fprintf(out, "\n%s\n  way      RESP2        RESP3\n", name);
    for (int i = 0; i < VEC_WAYS; i++)
        put_sum(out, vec_ways[i].name, sums->ways[i], vec_ways[i].promise);
    put_sum(out, "all", sums->all, "in every way that was asked");
    fprintf(out, "lines of the file, in each protocol that they name: "
            "%u of %u\n", sums->lines.kept, sums->lines.asked);
}

size_t vec_score(const struct vec_file *f, const struct vec_parser *p,
                 unsigned seconds, FILE *out)
{
    struct sums sums = {.lines = {0, 0}};

    for (size_t i = 0; i < f->count;) {
        const char *name = f->vectors[i].name;
        bool is_kept = true;

        for (; i < f->count && strcmp(f->vectors[i].name, name) == 0; i++) {
            struct vec_trial t = {.file = f, .vector = &f->vectors[i],
                                  .adapter = p->adapter};

            is_kept &= score_vector(&t, seconds, &sums, out);
        }
        count(&sums.lines, is_kept);
    }
    put_sums(out, p->name, &sums);
    return sums.lines.asked - sums.lines.kept;
}
