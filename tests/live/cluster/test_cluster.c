/* Locks in a cluster: each at the master of its slot, and no other server asked;
 * what a client says when a part of the cluster is missing or is none; how it is
 * closed and forked (C2, C12, C18). */
#include <sys/wait.h>
#include <unistd.h>

#include "lock/label.h"
#include "tests/live/test_candidate.h"
#include "tests/live/test_cluster.h"
#include "tests/support/lateness.h"
#include "tests/support/nodes.h"

#define EACH 20                 /* locks at each master */

/* ---- locks ---- */

START_TEST(a_lock_is_held_at_the_master_of_its_slot)
{
    struct hf_client *client = cluster_client("");
    char name[32];
    int n = 0;

    for (int i = 0; i < MASTERS * EACH; i++) {
        int node = i % MASTERS;
        struct hf_lock *lock = lock_of(client, name_at(node, &n, name));

        acquire(lock, 1);
        acquire(lock, 1);
        ck_assert_holder(cluster_node(cluster, node), lock, 1, 2);
        release(lock, 1);
        release(lock, 1);
        ck_assert_str_eq(hash_of(cluster_node(cluster, node), name), "");
        hf_lock_free(lock);
    }
    hf_client_free(client);
}
END_TEST

/* Its key is on the node of the key's slot, whichever node has the lock. */
START_TEST(a_label_is_read_from_any_node)
{
    struct hf_client *reader = cluster_client(""), *client = cluster_client("label=web3%2099");
    char name[32], owner[HF_OWNER_TEXT_MAX], label[HF_LABEL_MAX + 1] = "";
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_lock *lock;
    int n = 0;

    lock = lock_of(client, name_at(_i, &n, name));
    acquire(lock, 1);
    (void)hf_lock_owner_text(lock, 1, owner);
    while (strcmp(label, "web3 99") != 0) {
        ck_assert_int_lt(local_now_ms(), deadline_ms);
        ck_assert_ok(hf_label_read(reader, owner, strlen(owner), label, NULL));
    }
    release(lock, 1);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_ok(hf_label_read(reader, owner, strlen(owner), label, NULL));
    ck_assert_str_eq(label, "");
    hf_client_free(client);
    hf_client_free(reader);
}
END_TEST

/* C18: not even one that is a seed. */
START_TEST(a_replica_receives_no_requests_for_locks)
{
    struct hf_client *client = cluster_client_at_home("");

    for (int i = MASTERS; i < NODES; i++)
        ck_assert_int_eq(script_calls(cluster_node(cluster, i)), 0);
    hf_client_free(client);
}
END_TEST

START_TEST(a_client_connects_before_it_needs_a_lock)
{
    struct hf_client *client = cluster_client("");
    struct hf_error err = {0};

    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s", err.text);
    hf_client_free(client);
}
END_TEST

START_TEST(the_command_takes_the_url)
{
    const struct hf_tls_options *tls = tls_wanted();
    char url[CLUSTER_URL_MAX], command[4 * CLUSTER_URL_MAX], files[600] = "";

    if (tls)
        (void)snprintf(files, sizeof files, "--tls-ca %s --tls-cert %s",
                       tls->ca_file, tls->cert_file);
    (void)snprintf(command, sizeof command,
                   HF_BUILD "/holdfast run %s -u '%s' job -- true", files,
                   cluster_url(url, ""));
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- a part is missing ---- */

/* Slots of node 1 that it, and so everybody, forgets. */
#define GONE "5462"

static void everywhere(const char *format, const char *word)
{
    for (int i = 0; i < NODES; i++)
        (void)server_ask(cluster_node(cluster, i), format, word);
}

/* First at its owner: a message of the owner would give the slot back to another node. */
static void drop_slot(void)
{
    (void)server_ask(cluster_node(cluster, cluster_owner(cluster, atoi(GONE))),
                     "CLUSTER DELSLOTS %s", GONE);
    everywhere("CLUSTER DELSLOTS %s", GONE);
}

static char *name_in(int slot, char name[32])
{
    for (int i = 0;; i++) {
        (void)sprintf(name, "gone:%d", i);
        if (slot_of(name) == slot)
            return name;
    }
}

static void must_be_refused(struct hf_client *client, const char *name,
                            const char *word)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of(client, name);
    struct hf_error err = {0};
    int64_t began_ms = local_now_ms();
    hf_status rc;

    o.wait_ms = SET_UP_MS;
    rc = hf_lock_acquire(lock, &o, &err);
    ck_assert_msg(rc == HF_E_SERVER && strstr(err.text, word), "%s: %s",
                  hf_status_name(rc), err.text);
    ck_assert_within(began_ms, IN_TIME_MS);
    hf_lock_free(lock);
}

/* "no" as an operator's choice: the others' slots work on. */
START_TEST(a_slot_without_a_node_is_refused_and_others_are_not)
{
    bool is_full = _i == 1;
    struct hf_client *client = cluster_client("");
    struct hf_lock *lock;
    char name[32];
    int n = 0;

    everywhere("CONFIG SET cluster-require-full-coverage %s",
               is_full ? "yes" : "no");
    drop_slot();
    cluster_await_state(cluster, 0, is_full ? "fail" : "ok");
    must_be_refused(client, name_in(atoi(GONE), name),
                    "slot " GONE);
    lock = lock_of(client, name_at(0, &n, name));
    if (is_full) {
        must_be_refused(client, name, "CLUSTERDOWN");
    } else {
        acquire(lock, 1);
        release(lock, 1);
    }
    (void)server_ask(cluster_node(cluster, 1), "CLUSTER ADDSLOTS %s", GONE);
    cluster_await_owner(cluster, atoi(GONE), 1);
    cluster_await_ok(cluster);
    acquire(lock, 1);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
    everywhere("CONFIG SET cluster-require-full-coverage %s", "yes");
}
END_TEST

/* Row 0: the cluster is down, because a slot is not served. Row 1: it is the candidate's.
 * Row 2: the same, and the others are served. */
static const struct {
    bool is_full, is_gone;
    const char *word;
} parts[] = {{true, false, "CLUSTERDOWN"}, {true, true, "slot " GONE},
             {false, true, "slot " GONE}};

START_TEST(a_candidate_that_has_never_led_leads_when_all_slots_are_served)
{
    struct hf_client_options o;
    struct candidate c;
    struct hf_election *election;
    struct hf_client *client;
    struct hf_lock *lock;
    char url[CLUSTER_URL_MAX], name[32];
    int n = 0;

    everywhere("CONFIG SET cluster-require-full-coverage %s",
               parts[_i].is_full ? "yes" : "no");
    drop_slot();
    for (int i = 0; i < MASTERS; i++)
        cluster_await_state(cluster, i, parts[_i].is_full ? "fail" : "ok");
    cluster_options(&o, url);
    o.request_timeout_ms = SET_UP_MS;
    client = client_with(&o);
    lock = lock_of(client, parts[_i].is_gone ? name_in(atoi(GONE), name)
                                             : name_at(0, &n, name));
    election = candidate_join(&c, lock);
    note_await(&c.note, &c.troubles, 2, "two refusals");
    ck_assert_msg(strstr(c.last.text, parts[_i].word) && c.last.is_temporary, "%s",
                  c.last.text);
    ck_assert_int_eq(note_read(&c.note, &c.elected), 0);
    (void)server_ask(cluster_node(cluster, 1), "CLUSTER ADDSLOTS %s", GONE);
    note_await(&c.note, &c.elected, 1, "the election");
    ck_assert_ok(hf_election_leave(election, NULL));
    cluster_await_owner(cluster, atoi(GONE), 1);
    cluster_await_ok(cluster);
    everywhere("CONFIG SET cluster-require-full-coverage %s", "yes");
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

/* Slot 0 has nothing to do with a lock in another. */
START_TEST(other_slots_do_not_need_slot_0)
{
    struct hf_client *client = cluster_client("");
    char name[32], url[CLUSTER_URL_MAX], command[2 * CLUSTER_URL_MAX];
    struct hf_error err = {0};
    struct hf_lock *lock;
    int n = 0;

    everywhere("CONFIG SET cluster-require-full-coverage %s", "no");
    everywhere("CLUSTER DELSLOTS %s", "0");
    cluster_await_state(cluster, 0, "ok");
    lock = lock_of(client, name_at(1, &n, name));
    ck_assert_msg(hf_lock_connect(lock, &err) == HF_OK, "%s", err.text);
    (void)snprintf(command, sizeof command,
                   HF_BUILD "/holdfast run -n -u '%s' '%s' -- true",
                   cluster_url(url, ""), name);
    if (!tls_wanted())
        ck_assert_int_eq(system(command), 0);
    (void)server_ask(cluster_node(cluster, 0), "CLUSTER ADDSLOTS %s", "0");
    cluster_await_owner(cluster, 0, 0);
    cluster_await_ok(cluster);
    everywhere("CONFIG SET cluster-require-full-coverage %s", "yes");
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

/* ---- no cluster ---- */

static struct hf_client *client_at(const char *url,
                                   const struct hf_tls_options *tls)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = url;
    o.tls = tls;
    return client_with(&o);
}

START_TEST(a_server_that_is_not_a_cluster_is_reported)
{
    struct server *alone = server_start(NULL);
    char url[CLUSTER_URL_MAX];
    struct hf_client *client =
        client_at(cluster_seed(url, server_port(alone)), tls_wanted());
    struct hf_lock *lock = lock_of(client, NAME);
    int64_t began_ms = local_now_ms();
    struct hf_error err;

    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, "cluster support disabled; is this a single "
                                   "server? Its URL is redis://"),
                  "%s", err.text);
    ck_assert_within(began_ms, IN_TIME_MS);
    hf_lock_free(lock);
    hf_client_free(client);
    server_stop(alone);
}
END_TEST

/* Nodes that send a command in a circle, answer what nobody asked, or nothing. */
static const struct {
    const char *reply;          /* to a script; "%d" is a node's port */
    hf_status status;
    const char *word;
} nonsense[] = {
    {"-MOVED 5 127.0.0.1:%d\r\n", HF_E_SERVER, "disagree about the owner"},
    {":1\r\n", HF_E_PROTOCOL, "does not match the request"},
    {"*1\r\n$-1\r\n", HF_E_PROTOCOL, "does not match the request"},
    {"?\r\n", HF_E_NOREPLY, "not RESP"},
    {"", HF_E_NOREPLY, "no reply in time"},
};

static struct nodes *nodes;

static bool talk(void *ctx, const struct nodes_ask *ask, char *reply)
{
    const char *format = ctx;

    if (!request_matches(ask->request, "EVALSHA ...") &&
        !request_matches(ask->request, "EVAL ..."))
        return false;
    (void)sprintf(reply, format, nodes_port(nodes, 1 - ask->node));
    return true;
}

START_TEST(nonsense_is_an_error_by_the_deadline)
{
    const struct nodes_range all[] = {{0, 16383, 0}};
    struct hf_acquire_options o = acquire_options(1);
    int64_t began_ms = local_now_ms();
    struct hf_client *client;
    struct hf_error err = {0};
    char url[CLUSTER_URL_MAX];
    struct hf_lock *lock;
    hf_status rc;

    nodes = nodes_start(2, talk, (void *)nonsense[_i].reply);
    nodes_map(nodes, all, 1);
    (void)sprintf(url, "redis+cluster://127.0.0.1:%d", nodes_port(nodes, 0));
    client = client_at(url, NULL);
    lock = lock_of(client, NAME);
    o.wait_ms = SET_UP_MS;
    rc = hf_lock_acquire(lock, &o, &err);
    ck_assert_msg(rc == nonsense[_i].status &&
                      strstr(err.text, nonsense[_i].word),
                  "%s: %s", hf_status_name(rc), err.text);
    ck_assert_within(began_ms, IN_TIME_MS);
    hf_lock_free(lock);
    hf_client_free(client);
    nodes_stop(nodes);
}
END_TEST

/* ---- the end of a client ---- */

/* One lock at each master: two held, and one that another holds waited for. */
START_TEST(a_client_of_several_servers_is_closed_in_time)
{
    struct hf_client *client = cluster_client_at_home("");
    struct hf_client *other = cluster_client("");
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_closed closed;
    struct hf_lock *locks[MASTERS], *taken;
    int64_t began_ms;
    struct call call;
    char name[32];
    int n = 0;

    for (int i = 0; i < MASTERS; i++)
        locks[i] = lock_of(client, name_at(i, &n, name));
    taken = lock_of(other, name);
    acquire(taken, 1);
    acquire(locks[0], 1);
    acquire(locks[1], 1);
    call_acquire(&call, locks[2], &o);
    if (_i == 1)
        server_pause(cluster_node(cluster, 2));
    began_ms = local_now_ms();
    (void)hf_client_close(client, 500, &closed, NULL);
    ck_assert_within(began_ms, IN_TIME_MS);
    ck_assert_int_eq(call_await(&call), HF_E_CLOSED);
    ck_assert_int_eq((int)closed.holds, 2);
    hf_client_free(client);
    server_resume(cluster_node(cluster, 2));
    hf_client_free(other);
}
END_TEST

static void in_the_child(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_client_stats stats;

    if (hf_lock_acquire(lock, NULL, NULL) != HF_E_FORKED ||
        hf_lock_release(lock, 1, NULL) != HF_E_FORKED ||
        hf_client_connect(client, NULL) != HF_E_FORKED)
        _exit(1);
    hf_client_get_stats(client, &stats);
    hf_client_free(client);
    _exit(0);
}

START_TEST(a_forked_child_leaves_its_parents_cluster_alone)
{
    struct hf_client *client = cluster_client_at_home("");
    struct hf_lock *lock = lock_of(client, NAME);
    int status;
    pid_t child;

    acquire(lock, 1);
    child = fork();
    if (child == 0)
        in_the_child(client, lock);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_holder(server_of(NAME), lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

/* ---- credentials ---- */

#define ROTATIONS 3

static _Atomic(const char *) password;

static hf_status give_password(void *ctx, const struct hf_credentials_query *query,
                               struct hf_credentials *out, struct hf_error *err)
{
    (void)ctx;
    (void)query;
    (void)err;
    out->user = "rot";
    out->password = password;
    return HF_OK;
}

static void tell_all_nodes(const char *command)
{
    for (int i = 0; i < NODES; i++)
        (void)server_ask(cluster_node(cluster, i), command);
}

static struct hf_client *client_with_password(void)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    o.credentials = give_password;
    return client_with(&o);
}

/* All connections end, and each one to a master is made with the new password. */
START_TEST(a_rotated_password_reaches_every_node)
{
    static const char *const passwords[] = {"one", "two"};
    static const char *const changes[] = {"ACL SETUSER rot resetpass >one",
                                          "ACL SETUSER rot resetpass >two"};
    struct hf_lock *holds[MASTERS], *others[MASTERS];
    struct hf_client *client;
    char name[32];
    int n = 0;

    tell_all_nodes("ACL SETUSER rot reset on >one ~* &* +@all");
    password = passwords[0];
    client = client_with_password();
    for (int i = 0; i < MASTERS; i++) {
        holds[i] = lock_of(client, name_at(i, &n, name));
        others[i] = lock_of(client, name_at(i, &n, name));
        acquire(holds[i], 1);
    }
    for (int round = 1; round <= ROTATIONS; round++) {
        tell_all_nodes(changes[round % 2]);
        tell_all_nodes("CLIENT KILL USER rot");
        password = passwords[round % 2];
        for (int i = 0; i < MASTERS; i++) {
            acquire(others[i], 1);
            release(others[i], 1);
        }
    }
    for (int i = 0; i < MASTERS; i++)
        release(holds[i], 1);
    hf_client_free(client);
    tell_all_nodes("ACL DELUSER rot");
}
END_TEST

static void add_case(Suite *s, const char *name, bool is_resp2)
{
    TCase *c = cluster_case(s, name, is_resp2);

    tcase_add_test(c, a_lock_is_held_at_the_master_of_its_slot);
    tcase_add_loop_test(c, a_label_is_read_from_any_node, 0, MASTERS);
    tcase_add_test(c, a_replica_receives_no_requests_for_locks);
    tcase_add_test(c, a_client_connects_before_it_needs_a_lock);
    tcase_add_loop_test(c, a_client_of_several_servers_is_closed_in_time, 0, 2);
    tcase_add_test(c, a_forked_child_leaves_its_parents_cluster_alone);
    tcase_add_test(c, a_rotated_password_reaches_every_node);
    if (is_resp2)
        return;
    tcase_add_test(c, the_command_takes_the_url);
    tcase_add_loop_test(
        c, a_slot_without_a_node_is_refused_and_others_are_not, 0, 2);
    tcase_add_test(c, other_slots_do_not_need_slot_0);
    tcase_add_test(c, a_server_that_is_not_a_cluster_is_reported);
    tcase_add_loop_test(c, nonsense_is_an_error_by_the_deadline, 0,
                        COUNT(nonsense));
}

static void add_cases(Suite *s)
{
    add_case(s, "cluster", false);
    add_case(s, "cluster, RESP2", true);
    tcase_add_loop_test(cluster_case(s, "candidate", false),
                        a_candidate_that_has_never_led_leads_when_all_slots_are_served, 0,
                        COUNT(parts));
}

int main(void)
{
    return cluster_main("cluster", add_cases);
}
