/* What failed once: shrunk plans in tests/sim/plans/, each of which is executed
 * in `make check`. One line for each: its file, the property that it violated,
 * and what was wrong. A plan outlives changes to how plans are drawn; a seed
 * does not. */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

static const struct past {
    const char *plan;
    const char *violated;
    const char *why;
} past_failures[] = {
    {"reader_granted_twice", "P3",
     "two calls of one owner for a read lock were granted beside each other: "
     "two holds, of which the client counted one"},
    {"reader_behind_a_later_writer", "P5",
     "a reader that was refused stood behind a writer of its client that had come "
     "while the reader's first question was under way"},
    {"granted_beside_ones_own_wait", "leak",
     "an owner that waits was granted by another of its calls: the record of the "
     "first question was lost, and what the server may have given for it"},
    {"hold_of_a_master_again", "P4",
     "the judge was not told what a server that became a replica had kept"},
    {"reader_back_by_failover", "P4",
     "a new master had not heard of a reader's release: the judge took the "
     "renewals of other readers for that one's"},
    {"executed_behind_its_release", "P6",
     "a server that nobody needed for a second was forgotten with its lost connection, "
     "so the next one to it killed no predecessor: an acquire was executed behind its "
     "release"},
    {"forced_release_not_replicated", "P1",
     "a new master had not heard of a forced release, nor of the grant that "
     "followed: the judge excused the second owner only beside later grants"},
    {"renewed_by_an_old_master", "P10",
     "an old master had renewed further than its successor: the judge forgot it "
     "with the successor's next line"},
    {"replica_behind_a_grant", "P1",
     "a frozen replica still had a hold that was granted again: the judge took the "
     "grant for the old one"},
    {"forced_before_the_cluster_is_known", "P7",
     "a forced release that had to get to know the cluster first took a request "
     "timeout for each of its two questions"},
    {"release_not_replicated_under_a_writer", "P4",
     "likewise of a reader that writes, too, and whose release returned only after "
     "the failover"},
    {"type_changed_under_a_waiter", "P5",
     "the judge wanted a waiter that heard nothing to look as soon as the operator's "
     "fault was over"},
    {"acquire_behind_slow_replicas", "P5",
     "the run expected a free lock to be granted in time behind an acquire that "
     "waits for slow replicas on the same connection"},
    {"read_hold_renewed_by_an_old_master", "P10",
     "an old master had renewed a reader beside one with a longer lease: the lock's "
     "end did not change, so the judge was not told"},
    {"writer_reads_after_a_failover", "P10",
     "a writer became a reader, too, of a new master that had not heard of its "
     "renewals: the judge was told that the master had granted the write side"},
    {"asked_first_after_a_failover", "P5",
     "the run expected a client that had needed nothing since the failover to know "
     "the new master"},
    {"asked_first_after_a_stopped_master", "P5",
     "likewise, where the old master accepts connections and does not answer"},
    {"refused_by_an_old_master", "P5",
     "the run expected a waiter that a node refused just before it became a "
     "replica to hear of the lock, which was free at the new master already"},
    {"reader_joins_after_a_failover", "P10",
     "another reader made the lock's end later, and earlier again when it left: the "
     "judge took that for a grant of the new master to the first one"},
    {"redirected_over_a_slow_link", "P5",
     "the request timeout was too short for a redirected question that had to "
     "connect: the run expected it to be answered"},
    {"reader_entered_again_for_a_shorter_lease", "P6",
     "its release was asked for only as long as the shorter lease while the server was "
     "busy, and the lock lasts as long as the longer one"},
    {"writer_becomes_a_reader_on_a_full_server", "P6",
     "a full server refused the release of the write side, which was not asked for "
     "again, and the lock lasts as long as its owner's read side"},
    {"map_asked_for_just_before_it_is_due", "P5",
     "a client that only listened asked for the map every 10 s where it had just "
     "asked for it, not every 5 s"},
    {"granted_anew_after_an_old_master", "P1",
     "an old master still had a hold that was granted anew: the judge took its grant "
     "for the one of then"},
    {"cut_by_the_next_connection", "P5",
     "a cut waited for minutes for a connection: the judge was not told when it came"},
    {"asking_put_off_by_a_busy_server", "P6",
     "the server that a slot went to was busy and refused ASKING, and sent what came "
     "behind it back: in a millisecond a release had been to and fro too often"},
    {"reader_hidden_by_one_that_is_renewed", "P6",
     "the field of a reader whose lease was over stayed, and the judge took it for a "
     "hold"},
    {"asked_by_an_earlier_move", "P1",
     "a slot moved to and fro: a server granted what an earlier move had sent there "
     "while another still had the lock; the judge excused only what was granted after "
     "a loss"},
    {"queue_left_by_calls_that_do_not_arrive", "P6",
     "the calls that were to drop a dead waiter's place ended before their clients had "
     "found the server"},
    {"clock_slow_before_the_grant_is_known", "P10",
     "the judge did not know whose hold it was yet, and excused nobody"},
    {"released_at_an_old_master", "P6",
     "an old master was asked to release what it did not have: no line said so, and "
     "the judge excused only what it had"},
    {"shortened_after_a_slow_clock", "P10",
     "likewise, granted while the clock was slow: what an operator did to the hold ended "
     "the excuse"},
    {"demoted_while_its_master_is_down", "P10",
     "a model that was to follow a master that was down stayed a master"},
    {"kept_of_a_former_master", "P10",
     "replicas were waited for at a master that had been replaced: for want of "
     "them its grant was kept, though the client knew of the new master"},
    {"waits_beside_its_own_hold", "P6",
     "a call that had been put into the queue of a fair lock, and then entered a hold "
     "that another call of its owner had got meanwhile, stayed in the queue"},
    {"keeps_its_place_behind_a_peer", "P5",
     "when a Redisson-like waiter was granted the lock after a minute, its wait was taken "
     "off a place that had a watchdog's time behind it: the waiter lost its place"},
    {"leaves_the_queue_of_a_full_server", "P6",
     "a full server refused the script by which a waiter leaves the queue, and it was "
     "not asked again"},
    {"leaves_the_queue_of_a_busy_server", "P6",
     "who gave up was taken out of the queue only if the server could do so within the "
     "time of a lease, and a place there may last longer"},
    {"reader_hidden_by_a_dead_one", "P6",
     "an ACL refused the release of a reader, which was then never found, for another, "
     "whose client was gone, was named: the run waited only where readers stay for ever"},
    {"answer_forgotten_at_zero", "P11",
     "a server forgot what it had answered while the latch was at 0: no number changed, "
     "so that nothing told the judge"},
    {"writer_leaves_the_line_behind_a_reader", "P5",
     "the judge wanted the next reader to be granted at once, but the first in line, "
     "which had no message of a deletion, had yet to ask"},
    {"permits_taken_before_a_long_outage", "P11",
     "the server had forgotten after ten minutes what it had answered, so what a call "
     "took that ended before the outage did was not given back"},
    {"waiter_granted_before_a_long_outage", "P11",
     "likewise, and a waiter was granted twice by one request"},
    {"waiter_granted_weeks_before", "P11",
     "likewise, for longer than one request is sent again"},
    {"one_channel_of_two_names", "P5",
     "two names of a client had one channel: its messages went to the first of the "
     "two subscriptions alone"},
    {"beside_a_lock_that_moves", "P5",
     "two names were in one slot, and the slot moved: scripts of both are refused with "
     "TRYAGAIN, but the judge was told of the move for one of them only"},
    {"refused_beside_a_lock_that_moves", "P5",
     "the same for one call and one move, in a cluster without sharded channels"},
    /* PATIENCE-3 */
    {"permit_given_back_without_rights", "P11",
     "an ACL refused the release of a permit whose call had ended without it: the "
     "release was not repeated, and the permit was lost"},
    {"leaves_the_queue_without_the_password", "P6",
     "the release of a place in a fair lock's queue was refused because the password had "
     "changed, and was not repeated"},
    {"refused_kill_and_a_late_lease", "P10",
     "not a bug of the product: the ACL refuses KILL, and a shorter lease arrives late on "
     "the earlier connection; a client that counts the refused KILL as done fails"},
    {"kill_of_an_earlier_connection", "P10",
     "not a bug of the product: INFO is refused after a KILL that succeeded; a client that "
     "counts the earlier KILL for the next connection fails"},
    {"acquires_beside_its_lost_hold", "P12",
     "an owner was refused because of its own hold, which it had been told was lost and "
     "the server still had: the judge did not take that for a reason"},
    {"cut_told_after_the_client", "P12",
     "the judge was told that a connection was cut after the client had seen its end"},
    {"released_before_a_later_acquire", "P7",
     "the run left no time for the release of a call of the same owner that was granted "
     "meanwhile"},
    {"refused_by_a_master_without_permits", "P12",
     "a master that had been replaced had no permits left, and its successor had some: the "
     "judge looked at the successor only"},
    {"lease_on_a_lost_connection", "P12",
     "a lost connection that cannot be killed may still bring a shorter lease, so the client "
     "believes in no more: the judge wanted it to believe in the whole lease"},
    {"permit_given_back_without_sentinels", "P11",
     "all sentinels refused SENTINEL when a permit had to be given back: the release could "
     "not be sent, was not repeated, and the permit was lost"},
    {"permits_of_two_masters", "P12",
     "the judge added up the permits that an old and a new master had out, where one of "
     "them answers"},
    {"latch_closed_at_an_old_master", "P12",
     "a new master had no latch: the judge took it for open at the old one, too"},
    {"sent_as_its_wait_ends", "P12",
     "the judge expected an answer to a call that was sent, after another one of its owner, "
     "3 ms before the end of its wait"},
    {"renewed_by_owner", "P12",
     "the run wrote a renewal by owner as an inspection, which reported no holder"},
    {"renewed_by_owner_without_a_lease", "P12",
     "the run wrote each refusal of such a call as HF_E_LIMIT; here it is HF_E_INVAL, "
     "because the lease is 0"},
    {"another_holds_what_is_released_by_owner", "P12",
     "the run did not write which hold was to be released: the judge took it for any "
     "hold of the lock"},
    {"reader_released_by_owner", "P12",
     "a release by owner of a reader is the script of its own release: the judge "
     "expected a forced one"},
    {"renewed_by_owner_beside_its_watchdog", "P12",
     "the judge expected the owner to believe in a lease that another client had asked "
     "for"},
    {"renewed_by_owner_while_it_is_released", "P2",
     "the run let one client believe in a hold that another was releasing"},
    {"permit_renewed_by_owner_after_its_loss", "P12",
     "the judge took a renewal of another client for one of the owner, which had been "
     "told of the loss"},
    {"renewed_by_owner_before_a_flush", "P10",
     "the judge forgot a hold that was renewed and then flushed before the answer "
     "arrived"},
    {"lost_and_renewed_by_owner", "P12",
     "the judge took a hold that its owner had lost, and that another client had "
     "renewed, for no obstacle to the owner"},
    {"client_freed_at_its_max_hold", "P12",
     "the judge expected a release of a client that had been freed 34 ms after "
     "max_hold"},
    {"half_open_until_the_end", "P12",
     "a half-open connection was found out by its next request, 175 s later: longer "
     "than the judge was told"},
    {"forced_late_by_the_old_master", "P12",
     "an old master executed a forced release after its call had ended"},
    {"dead_waiter_without_a_time", "P6",
     "the times of a queue were evicted, and the run sent no acquire that would give "
     "its dead head a new one"},
    {"two_queues_without_a_time", "P6",
     "the times of one queue were evicted, and another queue had a dead waiter: the run did "
     "not wait for the time that its last acquires gave to the first one"},
    {"forced_late_when_nothing_was_held", "P12",
     "a forced release ended without an answer while nothing was held: the judge forgot the "
     "lock, and that it may be executed later"},
    {"permit_lapsed_meanwhile", "P12",
     "a permit lapsed and was taken again while an inspection was under way: the judge had "
     "looked only when a line changed the lock"},
    {"passed_by_the_calls_of_a_client", "P12",
     "waiters of a value lock look every 128 ms, and each client has some twenty calls that "
     "follow each other: the run expected fewer than 100 of them before a waiter"},
    {"latch_closed_by_a_new_client", "mild",
     "a new client set a latch that had opened, before a waiter without messages had looked"},
    {"lease_sent_twice", "P12",
     "an acquire with a short lease was sent again while its slot moved, so that the client "
     "believes in no longer lease: the judge knew of such calls only if they failed"},
    {"redirected_as_it_returns", "P5",
     "a request timeout was too short for a redirected request that had to connect: the run "
     "knew that of calm plans, but not in a scenario of messages"},
    {"told_when_the_lease_ends", "P2",
     "a new master refused renewals, and the owner believed in nothing until it answered: "
     "the judge wanted it to be told before its lease would end"},
    {"refused_by_an_earlier_answer", "P12",
     "a call that waits for less than a round trip had heard from the answer to an earlier "
     "call that the lock is held: the judge accepted errors of such calls only"},
    {"busy_after_a_short_silence", "P12",
     "a server was silent for 900 ms, then busy, then unused: its next answer, 15 s later, "
     "was taken for one after a long silence, and the call ended without one"},
    {"cut_of_one_connection_comes_late", "P12",
     "one connection was cut after so many bytes that it took 5 s: the judge was told of "
     "that for links only"},
    {"another_member_lost_before_one_was_acquired_again", "P2",
     "two of three members of a quorum were forgotten at once: the first was acquired "
     "again before the loss of the second was noticed, and nothing was reported lost"},
    {"member_forced_while_it_is_released", "P9",
     "a member was freed by force while its release was under way: the simulation "
     "counted it for the next hold of that owner"},
    {"asked_again_while_it_waits_with_a_lease", "P2",
     "an acquire of a quorum was refused because another call of its owner waited: the "
     "simulation took its options for those of the members that the other call took"},
    {"acquired_while_a_closed_client_holds_members", "P10",
     "an owner of a quorum asked again while clients that were closed still held members "
     "of its lost hold: the simulation took them for members of the next"},
    {"reader_counted_down_by_a_late_acquire", "P10",
     "an acquire that came late had set a reader's count to 1; its release from 3 to 2 then "
     "gave the lock the time of the first hold only"},
    {"refused_by_a_former_master", "P12",
     "a master that had become a replica refused a call because of a hold that its "
     "successor had freed: the judge did not know that clients may still call it"},
    {"inspected_at_a_former_master", "P12",
     "the same for an inspection, which reports a free lock"},
    {"permits_out_at_two_masters", "P12",
     "the judge added the permits that a former master and its successor have out"},
    {"place_inherited_and_moved", "P6",
     "a place that a new master had not heard to be left moved with its slot, and the judge "
     "was not told that it was from before the failover"},
    {"asked_by_a_node_that_is_late", "P10",
     "an ASK of a node that was late led to a master that had been replaced, of which the "
     "client could not know: the judge took its map for newer"},
    {"believed_for_the_shortest_lease", "P12",
     "a hold was acquired with two leases, and the judge wanted belief in the longer one"},
    {"read_hold_forced_with_its_write_hold", "P12",
     "a forced release named the write hold of an owner and freed its read hold too"},
    {"renewed_by_owner_after_a_failover", "P10",
     "a new master had not heard of a lease, and another client renewed the shorter one: "
     "the judge took that for a grant to the owner"},
    {"forced_between_two_acquires", "P12",
     "a forced release came between two acquires of an owner that had begun to release: the "
     "judge wanted a notice of loss before the calls that report it"},
    {"renewed_by_an_old_master_for_long", "P2",
     "a client learned of the new master, which had too many clients, and believed for a "
     "shorter time: the judge wanted the notice by the end of that shorter belief"},
    {"moved_without_its_hold", "P2",
     "likewise where a slot moved to a server that was stopped then"},
    {"server_named_by_ask_first", "P12",
     "the connection to a master that an ASK named before any slot of its own was requested "
     "was closed a second after the map was learned: a renewal had to connect again"},
    {"messages_on_a_connection_that_is_dead_one_way", "P12",
     "messages came over a connection whose way to the server was dead: the client did not "
     "count it as silent, and a call ended without a reply"},
    {"forced_release_while_a_slot_is_on_the_move", "P12",
     "a forced release named a second key, which it only reads, and was refused (TRYAGAIN) as "
     "long as the slot was on the move"},
    {"entered_again_for_longer_than_the_watchdog", "P12",
     "an owner entered its multi-lock again with a long lease, the watchdog renewed a member "
     "meanwhile, and the call failed because less than half of the long lease remained"},
    {"a_forgotten_member_counted_by_two", "P9",
     "two servers of a quorum were flushed, and two owners held it: each counted a member "
     "that its server had forgotten, and the judge did not excuse that"},
    {"peer_without_the_right_to_set_a_ttl", "P6",
     "the simulated Redisson was refused PEXPIRE by rights that were taken from holdfast, and "
     "left a lock without a TTL"},
    {"killed_while_it_forces", "P12",
     "a process was killed while its forced release was under way, which was executed later: "
     "the judge had forgotten the call"},
    {"first_sentinel_is_stopped", "P12",
     "a client that knew no master asked a stopped sentinel first, and the next one 100 ms "
     "later: the judge did not allow that time to a call with a short wait"},
    {"flushed_while_it_was_down", "P8",
     "a simulated operator flushed a server whose power had failed, so that nobody noticed that "
     "its counter of tokens came back older"},
    {"handshake_longer_than_its_timeout", "P5",
     "the link was so slow that a handshake with PING and CLIENT KILL took longer than "
     "connect_timeout: no wait for a lock has a bound there"},
    {"member_forced_before_the_quorum_is_held", "P12",
     "an acquire of a quorum waited for another owner, a member that it had was released by "
     "force, and the acquire ended with HF_E_QUORUM"},
    {"stop_of_a_turn_at_the_end", "P6",
     "a process was to be stopped within a turn, and no such turn came before the last acquires "
     "of the run: it was stopped in the middle of them, and their locks were left"},
    {"type_back_after_a_power_failure", "P6",
     "the simulated operator deleted a key of another type, the server lost that in a power "
     "failure, and nobody deleted the key again"},
    {"acquire_lost_in_a_power_failure", "P2",
     "with a bug that was put in: the older data have the lock for another owner, and the "
     "renewal that says so was not taken for a loss"},
    {"reentry_lost_in_a_power_failure", "P2",
     "the judge did not excuse belief in a re-entry that the older data do not have"},
    {"majority_forgotten_while_one_was_down", "P2",
     "three of five members were forgotten, one of them by a server that was down: that one "
     "counts until its lease ends, so the quorum was not lost, which the run did not know"},
    {"place_lost_while_a_master_is_doubted", "P5",
     "a dead connection was replaced after 1.25 s, which was a reason to doubt the master for "
     "1.5 s more: a waiter lost its place in a fair queue"},
    {"hold_outlives_two_dead_connections", "P12",
     "a connection swallowed bytes, and so did the next one in its greeting: that attempt "
     "lasted for the connect timeout, and the TTL ended (LINK-10)"},
    {"greeting_swallowed_as_well", "P12",
     "the same, and a call ended without a reply"},
    {"members_forgotten_while_one_was_cut_off", "P2",
     "the same with seven members, where a half-open connection hid one of four losses"},
    {"old_master_used_while_its_successor_is_frozen", "P6",
     "without sentinels, a client that had used a promoted master went back to the old "
     "one when the promoted one was silent for a second: a release had no effect"},
    {"turn_of_a_waiter_just_before_its_wait_ends", "P12",
     "a call waited behind another acquire of its client until less than a round trip of its wait "
     "was left: the judge knew only of earlier calls of its owner"},
    {"quorum_released_when_its_max_hold_ends", "P12",
     "the release of a quorum with tokens waited for replies of its members, whose max_hold passed "
     "meanwhile: HF_LOST is right, and the judge did not know why"},
    {"reader_of_a_key_that_has_expired", "P12",
     "a master became a replica, which keeps an expired key and replies 0: the judge expected "
     "the number"},
    {"member_acquired_late_by_a_lost_connection", "P3",
     "CLIENT KILL was refused, and an acquire that a lost connection delivered late raised the "
     "count of a member: nobody called for that multi-lock again, as the run did for other locks"},
    {"forced_and_brought_back_by_older_data", "P10",
     "a read hold was released by force, and a power failure brought it back with an earlier "
     "end: the judge excused belief only in a hold that the server had when it failed"},
    {"evicted_while_it_was_down", "P8",
     "a simulated eviction removed a counter of tokens from a server that was down, so that "
     "nobody noticed that it came back older"},
    {"evicted_before_a_power_failure", "P8",
     "the same, and the server was not down yet"},
    {"waiter_stays_at_a_former_master", "P5",
     "a later connection led to the new master, and the waiter's one stayed at the former "
     "one, which shows the lock as held (REPLACE-4)"},
    {"back_at_the_server_that_was_left_before", "P5",
     "the master changed back soon after older connections had been replaced, which was taken "
     "for an address that leads to several servers"},
    {"renewals_unseen_behind_a_longer_lease", "P12",
     "a longer lease of another hold of the same key was in force, so the renewals changed "
     "nothing on the server: the judge did not look at the belief"},
};

/* Worlds in which the client must cope: these seeds of each are good, and each effect of
 * the world happens in them. */
static const struct past_world {
    const char *family;
    unsigned seeds; /* from 1 on */
} past_worlds[] = {
    {"silence", 40},
    {"credentials", 40},
    {"hosts", 40},
    {"switchover", 40},
    {"proxy", 40},
};

#endif
