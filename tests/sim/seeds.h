/* Earlier failures: shrunk plans in tests/sim/plans/, each of which `make check` executes. An
 * entry has the plan's file, the property that it violated, and the cause. A plan remains valid
 * when the drawing of plans changes; a seed does not. */
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
     "a reader that was refused was queued after a writer of its client that had come "
     "while the reader's first request was pending"},
    {"granted_beside_ones_own_wait", "leak",
     "another call of a waiting owner was granted the lock: the record of the waiter's "
     "first request was lost, and with it what the server may have granted for it"},
    {"hold_of_a_master_again", "P4",
     "the judge was not informed of the holds that a server kept when it became a replica"},
    {"reader_back_by_failover", "P4",
     "a new master did not have a reader's release: the judge took the renewals of other "
     "readers for renewals of that reader"},
    {"executed_behind_its_release", "P6",
     "a server without requests for a second was freed with its lost connection, so the "
     "next connection to it killed no predecessor: an acquire was executed after its "
     "release"},
    {"forced_release_not_replicated", "P1",
     "a new master had neither a forced release nor the grant that followed: the judge "
     "excused the second owner only beside later grants"},
    {"renewed_by_an_old_master", "P10",
     "an old master had renewed further than its successor: the judge forgot this at the "
     "successor's next line"},
    {"replica_behind_a_grant", "P1",
     "a frozen replica still had a hold that was granted again: the judge took the grant "
     "for the old one"},
    {"forced_before_the_cluster_is_known", "P7",
     "a forced release that had to learn the map first took a request timeout for each of "
     "its two requests"},
    {"release_not_replicated_under_a_writer", "P4",
     "the same for a reader that also writes, and whose release returned only after the "
     "failover"},
    {"type_changed_under_a_waiter", "P5",
     "the judge wanted a waiter without a notification to poll at the end of the "
     "operator's fault"},
    {"acquire_behind_slow_replicas", "P5",
     "the run expected a free lock to be granted in time after an acquire that waits for "
     "slow replicas on the same connection"},
    {"read_hold_renewed_by_an_old_master", "P10",
     "an old master had renewed a reader beside one with a longer lease: the lock's "
     "end did not change, so the judge was not informed"},
    {"writer_reads_after_a_failover", "P10",
     "a writer also became a reader at a new master that did not have its renewals: the "
     "judge was informed that the master had granted the write side"},
    {"asked_first_after_a_failover", "P5",
     "the run expected a client without requests since the failover to know the new master"},
    {"asked_first_after_a_stopped_master", "P5",
     "the same, where the old master accepts connections and does not reply"},
    {"refused_by_an_old_master", "P5",
     "a node refused a waiter just before it became a replica: the run expected the waiter "
     "to be notified of the lock, which was already free at the new master"},
    {"reader_joins_after_a_failover", "P10",
     "another reader made the lock's end later, and earlier again when it left: the judge "
     "took that for a grant of the new master to the first reader"},
    {"redirected_over_a_slow_link", "P5",
     "the request timeout was too short for a redirected request that had to connect: the "
     "run expected a reply"},
    {"reader_entered_again_for_a_shorter_lease", "P6",
     "its release was repeated only for the shorter lease while the server was busy, and "
     "the lock lasts as long as the longer one"},
    {"writer_becomes_a_reader_on_a_full_server", "P6",
     "a full server refused the release of the write side, which was not repeated, and the "
     "lock lasts as long as its owner's read side"},
    {"map_asked_for_just_before_it_is_due", "P5",
     "a client with subscriptions alone requested the map every 10 s instead of every 5 s "
     "if it had just requested it"},
    {"granted_anew_after_an_old_master", "P1",
     "an old master still had a hold that was granted again: the judge took the new grant "
     "for the earlier one"},
    {"cut_by_the_next_connection", "P5",
     "a cut waited for minutes for a connection: the judge was not informed when it "
     "happened"},
    {"asking_put_off_by_a_busy_server", "P6",
     "the server that a slot moved to was busy and refused ASKING, and redirected the next "
     "command back: a release was redirected too often in a millisecond"},
    {"reader_hidden_by_one_that_is_renewed", "P6",
     "the field of a reader whose lease had expired remained, and the judge took it for a "
     "hold"},
    {"asked_by_an_earlier_move", "P1",
     "a slot moved to and fro: a server granted a request that an earlier move had sent "
     "there while another server still had the lock; the judge excused only grants after a "
     "loss"},
    {"queue_left_by_calls_that_do_not_arrive", "P6",
     "the calls that should remove a dead waiter's place ended before their clients had "
     "found the server"},
    {"clock_slow_before_the_grant_is_known", "P10",
     "the judge did not know yet which owner had the hold, and excused none"},
    {"released_at_an_old_master", "P6",
     "an old master received the release of a hold that it did not have: no line recorded "
     "this, and the judge excused only holds that it had"},
    {"shortened_after_a_slow_clock", "P10",
     "the same, granted while the clock was slow: an operator's change of the hold ended "
     "the excuse"},
    {"demoted_while_its_master_is_down", "P10",
     "a model that should follow a master that was down remained a master"},
    {"kept_of_a_former_master", "P10",
     "a grant waited for replicas at a master that had been replaced: without them its "
     "grant was kept, although the client knew the new master"},
    {"waits_beside_its_own_hold", "P6",
     "a call in the queue of a fair lock joined a hold that another call of its owner had "
     "acquired meanwhile, and remained in the queue"},
    {"keeps_its_place_behind_a_peer", "P5",
     "when a Redisson-like waiter was granted the lock after a minute, its wait was "
     "subtracted from a later place that had only a watchdog timeout: the waiter lost its "
     "place"},
    {"leaves_the_queue_of_a_full_server", "P6",
     "a full server refused the script by which a waiter leaves the queue, and it was not "
     "repeated"},
    {"leaves_the_queue_of_a_busy_server", "P6",
     "a waiter that ended was removed from the queue only if the server could do so within "
     "the lease, and a place may last longer"},
    {"reader_hidden_by_a_dead_one", "P6",
     "an ACL refused the release of a reader, which was then never found, because replies "
     "named another reader, whose client had ended: the run waited only where readers stay "
     "for ever"},
    {"answer_forgotten_at_zero", "P11",
     "a server forgot a recorded reply while the latch was at 0: no number changed, so "
     "that the judge was not informed"},
    {"writer_leaves_the_line_behind_a_reader", "P5",
     "the judge wanted the next reader to be granted at once, but the first waiter, which "
     "had no message of a deletion, had not sent its request yet"},
    {"permits_taken_before_a_long_outage", "P11",
     "the server had forgotten its recorded replies after ten minutes, so the permits of a "
     "call that ended before the outage did were not released"},
    {"waiter_granted_before_a_long_outage", "P11",
     "the same, and a waiter was granted twice by one request"},
    {"stopped_for_weeks_before_its_release_ended", "P11",
     "a process was stopped for five weeks before its release had a reply, and repeated it when "
     "the server had forgotten the reply: it was executed twice"},
    {"waiter_granted_weeks_before", "P11",
     "the same, for longer than a request is repeated"},
    {"one_channel_of_two_names", "P5",
     "two names of a client had one channel: its messages went to the first of the "
     "two subscriptions alone"},
    {"beside_a_lock_that_moves", "P5",
     "two names were in one slot, and the slot moved: scripts of both are refused with "
     "TRYAGAIN, but the judge was informed of the move for one of them only"},
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
     "an owner was refused because of its own hold, whose loss had been reported and which "
     "the server still had: the judge did not accept that as a reason"},
    {"cut_told_after_the_client", "P12",
     "the judge was informed that a connection was cut after the client had detected its "
     "end"},
    {"released_before_a_later_acquire", "P7",
     "the run left no time for the release of a call of the same owner that was granted "
     "meanwhile"},
    {"refused_by_a_master_without_permits", "P12",
     "a master that had been replaced had no permits left, and its successor had some: the "
     "judge examined the successor only"},
    {"lease_on_a_lost_connection", "P12",
     "a lost connection that cannot be killed may still deliver a shorter lease, so the "
     "client believes in no longer one: the judge wanted it to believe in the whole lease"},
    {"permit_given_back_without_sentinels", "P11",
     "all sentinels refused SENTINEL when a permit had to be released: the release could "
     "not be sent, was not repeated, and the permit was lost"},
    {"permits_of_two_masters", "P12",
     "the judge added the permits in use of an old and a new master, of which only one "
     "replies"},
    {"latch_closed_at_an_old_master", "P12",
     "a new master had no latch: the judge also took the latch of the old one for open"},
    {"sent_as_its_wait_ends", "P12",
     "the judge expected a reply to a call that was sent 3 ms before the end of its wait, "
     "after another call of its owner"},
    {"renewed_by_owner", "P12",
     "the run wrote a renewal by owner as an inspection, which reported no holder"},
    {"renewed_by_owner_without_a_lease", "P12",
     "the run wrote each refusal of such a call as HF_E_LIMIT; here it is HF_E_INVAL, "
     "because the lease is 0"},
    {"another_holds_what_is_released_by_owner", "P12",
     "the run did not record which hold should be released: the judge took it for any hold "
     "of the lock"},
    {"reader_released_by_owner", "P12",
     "a release by owner of a reader is the script of its own release: the judge "
     "expected a forced one"},
    {"renewed_by_owner_beside_its_watchdog", "P12",
     "the judge expected the owner to believe in a lease that another client had set"},
    {"renewed_by_owner_while_it_is_released", "P2",
     "the run let one client believe in a hold that another was releasing"},
    {"permit_renewed_by_owner_after_its_loss", "P12",
     "the judge took a renewal of another client for a renewal of the owner, to which the "
     "loss had been reported"},
    {"renewed_by_owner_before_a_flush", "P10",
     "the judge forgot a hold that was renewed and then flushed before the reply arrived"},
    {"lost_and_renewed_by_owner", "P12",
     "a hold that its owner had lost, and that another client had renewed, blocked the "
     "owner: the judge did not accept that as a reason"},
    {"client_freed_at_its_max_hold", "P12",
     "the judge expected a release of a client that had been freed 34 ms after "
     "max_hold"},
    {"half_open_until_the_end", "P12",
     "a half-open connection was detected by its next request, 175 s later: later than the "
     "bound that the judge had"},
    {"forced_late_by_the_old_master", "P12",
     "an old master executed a forced release after its call had ended"},
    {"dead_waiter_without_a_time", "P6",
     "the times of a queue were evicted, and the run sent no acquire that would give "
     "its dead head a new one"},
    {"two_queues_without_a_time", "P6",
     "the times of one queue were evicted, and another queue had a dead waiter: the run "
     "did not wait for the time that its last acquires gave to the first queue"},
    {"forced_late_when_nothing_was_held", "P12",
     "a forced release ended without a reply while nothing was held: the judge forgot the "
     "lock, and that the release may be executed later"},
    {"permit_lapsed_meanwhile", "P12",
     "a permit expired and was acquired again during an inspection: the judge had examined "
     "the lock only when a line changed it"},
    {"passed_by_the_calls_of_a_client", "P12",
     "waiters of a value lock poll every 128 ms, and each client has some twenty calls "
     "that follow each other: the run expected fewer than 100 of them before a waiter"},
    {"latch_closed_by_a_new_client", "mild",
     "a new client set a latch that had opened, before a waiter without messages had "
     "polled"},
    {"lease_sent_twice", "P12",
     "an acquire with a short lease was sent again while its slot moved, so that the client "
     "believes in no longer lease: the judge knew of such calls only if they failed"},
    {"redirected_as_it_returns", "P5",
     "a request timeout was too short for a redirected request that had to connect: the run "
     "knew that of calm plans, but not in a scenario of messages"},
    {"told_when_the_lease_ends", "P2",
     "a new master refused renewals, and the owner believed in nothing until it replied: "
     "the judge wanted the loss to be reported before the lease would end"},
    {"refused_by_an_earlier_answer", "P12",
     "a call that waits for less than a round trip learned from the reply to an earlier "
     "call that the lock is held: the judge accepted only errors of such calls"},
    {"busy_after_a_short_silence", "P12",
     "a server was silent for 900 ms, then busy, then unused: its next reply, 15 s later, "
     "was taken for one after a long silence, and the call ended without a reply"},
    {"cut_of_one_connection_comes_late", "P12",
     "one connection was cut after a number of bytes that took 5 s: the judge was informed "
     "of such cuts for links only"},
    {"another_member_lost_before_one_was_acquired_again", "P2",
     "two of three members of a quorum were forgotten at once: the first was acquired "
     "again before the loss of the second was detected, and no loss was reported"},
    {"member_forced_while_it_is_released", "P9",
     "a member was freed by force while its release was under way: the simulation "
     "counted it for the next hold of that owner"},
    {"asked_again_while_it_waits_with_a_lease", "P2",
     "an acquire of a quorum was refused because another call of its owner waited: the "
     "simulation took its options for those of the members that the other call took"},
    {"acquired_while_a_closed_client_holds_members", "P10",
     "an owner of a quorum requested it again while closed clients still held members of "
     "its lost hold: the simulation took them for members of the next hold"},
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
     "a place moved with its slot from a new master that did not have its removal, and the "
     "judge was not informed that it was from before the failover"},
    {"asked_by_a_node_that_is_late", "P10",
     "an ASK of a node that was late led to a master that had been replaced, which the "
     "client could not know: the judge took its map for newer"},
    {"believed_for_the_shortest_lease", "P12",
     "a hold was acquired with two leases, and the judge wanted belief in the longer one"},
    {"read_hold_forced_with_its_write_hold", "P12",
     "a forced release named the write hold of an owner and freed its read hold too"},
    {"renewed_by_owner_after_a_failover", "P10",
     "a new master did not have a lease, and another client renewed the shorter one: the "
     "judge took that for a grant to the owner"},
    {"forced_between_two_acquires", "P12",
     "a forced release came between two acquires of an owner that had begun to release: "
     "the judge wanted the loss to be reported before the calls that report it"},
    {"renewed_by_an_old_master_for_long", "P2",
     "a client learned of the new master, which had too many clients, and believed for a "
     "shorter time: the judge wanted the loss to be reported by the end of that time"},
    {"moved_without_its_hold", "P2",
     "the same, where a slot moved to a server that was stopped then"},
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
     "a client that knew no master queried a stopped sentinel first, and the next one 100 "
     "ms later: the judge did not allow that time to a call with a short wait"},
    {"flushed_while_it_was_down", "P8",
     "a simulated operator flushed a server whose power had failed, so that no line "
     "recorded that its counter of tokens came back older"},
    {"handshake_longer_than_its_timeout", "P5",
     "the link was so slow that a handshake with PING and CLIENT KILL took longer than "
     "connect_timeout: no wait for a lock has a bound there"},
    {"member_forced_before_the_quorum_is_held", "P12",
     "an acquire of a quorum waited for another owner, a member that it had was released by "
     "force, and the acquire ended with HF_E_QUORUM"},
    {"stop_of_a_turn_at_the_end", "P6",
     "a process should be stopped within a turn, and no such turn came before the last "
     "acquires of the run: it was stopped in the middle of them, and their locks remained"},
    {"type_back_after_a_power_failure", "P6",
     "the simulated operator deleted a key of another type, the server lost that in a "
     "power failure, and the run did not delete the key again"},
    {"acquire_lost_in_a_power_failure", "P2",
     "with a planted bug: the older data have the lock for another owner, and the renewal "
     "that reports this was not taken for a loss"},
    {"reentry_lost_in_a_power_failure", "P2",
     "the judge did not excuse belief in a re-entry that the older data do not have"},
    {"majority_forgotten_while_one_was_down", "P2",
     "three of five members were forgotten, one of them by a server that was down: that one "
     "counts until its lease ends, so the quorum was not lost, which the run did not know"},
    {"place_lost_while_a_master_is_doubted", "P5",
     "a dead connection was replaced after 1.25 s, which was a reason to doubt the master for "
     "1.5 s more: a waiter lost its place in a fair queue"},
    {"hold_outlives_two_dead_connections", "P12",
     "a connection swallowed bytes, and so did the next one in its handshake: that attempt "
     "lasted for the connect timeout, and the TTL ended (LINK-10)"},
    {"handshake_swallowed_as_well", "P12",
     "the same, and a call ended without a reply"},
    {"members_forgotten_while_one_was_cut_off", "P2",
     "the same with seven members, where a half-open connection hid one of four losses"},
    {"old_master_used_while_its_successor_is_frozen", "P6",
     "without sentinels, a client that had used a promoted master went back to the old "
     "one when the promoted one was silent for a second: a release had no effect"},
    {"turn_of_a_waiter_just_before_its_wait_ends", "P12",
     "a call waited for another acquire of its client until less than a round trip of its "
     "wait remained: the judge knew only of earlier calls of its owner"},
    {"quorum_released_when_its_max_hold_ends", "P12",
     "the release of a quorum with tokens waited for replies of its members, whose max_hold passed "
     "meanwhile: HF_LOST is right, and the judge did not know why"},
    {"reader_of_a_key_that_has_expired", "P12",
     "a master became a replica, which keeps an expired key and replies 0: the judge expected "
     "the number"},
    {"member_acquired_late_by_a_lost_connection", "P3",
     "CLIENT KILL was refused, and an acquire that a lost connection delivered late raised "
     "the count of a member: the run did not request that multi-lock again, as it did "
     "other locks"},
    {"forced_and_brought_back_by_older_data", "P10",
     "a read hold was released by force, and a power failure brought it back with an earlier "
     "end: the judge excused belief only in a hold that the server had when it failed"},
    {"evicted_while_it_was_down", "P8",
     "a simulated eviction removed a counter of tokens from a server that was down, so "
     "that no line recorded that it came back older"},
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
    {"member_forced_after_its_call_ended", "P12",
     "a call of a quorum ended with an error, its members were granted late, and one of them "
     "was released by force: the judge had forgotten that the lock is a set"},
    {"second_place_swallowed_as_its_turn_comes", "P5",
     "a release shortened the next waiters' places to half of the watchdog timeout, and the "
     "request that extends one was swallowed twice: its waiter lost its place (FAIR-3)"},
    {"places_behind_four_dead_waiters", "P6",
     "a waiter among four dead ones of Redisson kept its place beyond theirs, so the times were "
     "long: the run did not know that a free lock waits 15 s for each of them"},
    {"shortened_by_hand_before_a_failover", "P10",
     "a hold was shortened by an operator, then a failover came before it was as long again: "
     "the judge forgot the operator because the former master wrote a line after it"},
    {"changed_back_soon_after_it_was_noticed", "P5",
     "a client that was idle noticed a new master late, and the address changed back 3.5 s later: "
     "it took this for an address that leads to several servers, for 60 s (REPLACE-4)"},
    {"inspected_while_a_clock_is_slow", "P12",
     "a server's clock was slow, so a TTL of 10 s lasted 74 ms longer than an inspection could "
     "know: the judge allowed for no difference of rates"},
    {"released_just_before_an_earlier_wait_ends", "P12",
     "a later call of a waiting owner was granted the lock and released it when less than a round "
     "trip of the wait was left: the judge knew only of earlier calls of its owner"},
    {"one_member_renewed_after_a_slow_clock", "P10",
     "a quorum was granted by a clock that was far too slow: the judge excused its belief only "
     "until the first of its members was renewed"},
    {"renewed_after_the_clock_was_set_back", "P12",
     "a read hold from before the clock of its server was set back ended 16 s later, and "
     "renewals left that end: the judge took it for that of the last renewal"},
    {"no_memory_for_a_batch_of_renewals", "P12",
     "a planted bug: without memory for a batch, its holds were never renewed again. The "
     "judge excused the loss by a fault of 8 s before"},
    {"released_from_a_batch_without_a_connection", "P12",
     "a planted bug: a hold was released while its batch waited for a connection, and the "
     "other holds of the batch were never renewed again"},
    {"permits_that_have_expired_at_a_replica", "P12",
     "a master became a replica, which keeps a semaphore that has expired and has no permit: the "
     "judge expected the number"},
    {"member_forced_before_a_release_with_one_down", "P12",
     "of three members one was released by force and one was down: the release of the quorum "
     "ended with HF_E_QUORUM, because only one member counted as released"},
    {"forced_release_after_a_silence", "P12",
     "a forced release without a holder was the first request after a silence of its master: its "
     "reply did not count, and it may not be repeated"},
    {"login_left_from_a_lost_connection", "login",
     "a connection began with a login that an earlier one had received and not used, 1 s before "
     "its end: three quarters of the rest left too little time for the next query (LOGIN-3)"},
    {"quorum_granted_beside_a_forgotten_member", "P2",
     "a quorum with a lease of its own was granted with a member that its server had forgotten, and "
     "the third member came 20 ms later: the judge forgot that nothing reports such a loss when the "
     "majority was complete again"},
    {"quorum_with_a_member_added_after_a_force", "P2",
     "the same where the owner had believed in the member before it was released by force: the loss "
     "is reported when the belief in the later members ends"},
    {"lease_of_a_lost_member_ends_beside_another_quorum", "P9",
     "the lease of members that were forgotten unseen ended at a line of another quorum: the run "
     "dropped the members and did not write that their quorum was free"},
    {"members_forgotten_before_a_call_failed", "P6",
     "members were forgotten while their replies were held back, and the call failed: the run counted "
     "them for the owner, which no longer did"},
    {"released_over_a_link_slower_than_a_handshake", "P6",
     "a release waited for a connection, and each handshake took longer than connect_timeout: the run "
     "expected it to arrive before the lease ended"},
    {"renewal_delayed_beside_members_that_came_late", "P12",
     "the reply of one member was delayed, and two members had been granted late: the judge "
     "expected the owner to believe in a renewal of which it knew no majority"},
    {"not_renewed_beside_another_owners_member", "P12",
     "another owner had one member, and a server without disk another one: the judge expected the "
     "quorum to be renewed by the third member alone"},
    {"refused_member_beside_a_lease_of_a_millisecond", "P12",
     "a lease of 1 ms ended before the replies, and one member was refused: the judge wanted an "
     "error in place of HF_TIMEOUT"},
    {"member_renewed_while_its_owner_was_suspended", "P10",
     "a process with several clients continued: the run looked at all members of a quorum when the "
     "first client had had its turn, and the others had not read their replies yet"},
    {"reader_shortened_by_another_at_a_new_master", "P2",
     "the old master had renewed a reader; at the new one another reader's release shortened the lock: "
     "the judge took that for a grant, and wanted the loss reported before the lock expired"},
    {"renewed_by_owner_before_a_late_reentry", "P10",
     "a client ended while its re-entry with a shorter lease was on its way, and the server "
     "executed it after a renewal by owner: the judge did not excuse the belief of the other client"},
    {"renewed_by_owner_before_a_late_release", "P10",
     "the same with a release"},
    {"renewed_by_owner_before_a_late_renewal", "P10",
     "the same with a renewal of the watchdog, which the judge took for the one by owner"},
    {"reader_hidden_by_one_that_was_closed", "P6",
     "the release of a reader was refused, and replies named a reader whose client was closed "
     "later: the run waited only if the close named the lock, but it leaves holds of all locks"},
    {"reader_hidden_by_one_that_was_killed", "P6",
     "the same, and the client was killed"},
    {"writer_kept_by_its_reader_without_rights", "P6",
     "an ACL refused the release of a writer, which was not repeated, and its owner's read hold was "
     "renewed: the lock remained exclusive, and only a request of this client would have found it"},
    {"writer_kept_by_a_pending_reader_without_rights", "P6",
     "the same, and the request for the read hold was pending when the repeated release was refused"},
    {"shortened_after_a_renewal_of_unknown_outcome", "P10",
     "a renewal by owner had an unknown outcome, and after a failover the judge took each renewal for "
     "that one: it did not note the longer lease, which an operator then made shorter"},
    {"clock_set_forward_and_not_told_yet", "P3",
     "a clock that was set forward ended a hold with a lease of its own: the judge did not wait "
     "until its owner was to be told"},
    {"max_hold_over_before_it_is_reported", "P12",
     "a process was stopped in a callback: the judge counted max_hold from the end of the call, "
     "which was reported late"},
    {"readers_lease_lost_in_a_power_failure", "P2",
     "older data ended a reader's own lease earlier, and not the lock's: the history did not show "
     "it, and another reader's release freed the lock of a reader that believed in it"},
    {"readers_lease_unknown_to_a_new_master", "P2",
     "the same after a failover, while the readers' processes were stopped"},
    {"latch_wait_that_ends_in_a_close", "P12",
     "a call of a client that closes, whose time passes before the reply to a request of the "
     "last moment, ends with HF_TIMEOUT as any other: it ended with HF_E_NOREPLY"},
    {"renewal_redirected_over_a_slow_link", "P12",
     "a slot moved to a node without the script: after NOSCRIPT a renewal began again at the node "
     "that had replied ASK, and came too late for a lease of 0.9 s"},
    /* DOUBT-5 */
    {"former_master_that_became_the_master_again", "P12",
     "redis://a,b,c: after a failover and back, the first reply of the master did not count, because "
     "it had been silent before it was replaced, and the renewal seemed to have failed"},
    {"granted_as_the_connection_to_the_master_ended", "P10",
     "a turn read a grant and the end of the connection, and the next turn, of the same moment, "
     "reported the grant: the history said that the client knew of no master"},
    {"member_granted_after_its_call_ended", "P9",
     "a server executed the acquire of a member after its call had ended without it, and then forgot "
     "it: the run counted that member for the owner's next call, which got another one"},
    {"address_kept_for_a_node_that_was_never_there", "P12",
     "a former map had the address of the node that sent it in place of another one. The address was "
     "kept because its connection was open, and each MOVED led to where no process listens, until "
     "the hold was lost"},
    {"call_sent_to_an_address_of_another_node", "P12",
     "the same until a call had five redirections"},
    {"an_old_refusal_explains_no_later_delay", "P12",
     "a request that waited 2 ms for a map ended with the NOAUTH of 17 s before, and "
     "another one of its owner with it"},
    /* COUNT-4 */
    {"permit_added_back_without_rights", "P11",
     "a release had no reply and was repeated, and an ACL refused it: it was not repeated again, "
     "and the permit was lost"},
    {"a_set_is_whole_again_while_a_member_loads", "P2",
     "two members of a quorum were forgotten, and one was acquired again while the other "
     "replied LOADING until its lease would have ended: the judge did not except this, as "
     "promise 18 does"},
    /* LABEL-1, LABEL-2 */
    {"a_call_that_waits_has_no_label", "label",
     "a client that held nothing and waited for a lock that is not fair wrote its label, because "
     "it had held another lock for a moment"},
    {"a_label_of_a_lost_hold", "label",
     "a client wrote its label again and again while it did not release a hold that it had lost"},
    {"a_label_that_is_not_written_again", "label",
     "a lease of 9 s ended after 4 ms, so the label's timer came early and was not armed again: the "
     "next hold outlasted the label"},
    {"a_label_written_while_it_is_read", "label",
     "a waiter read the label of a holder just before it was written, and its error had none"},
    {"reentry_cut_short_by_its_wait", "P12",
     "two calls of one owner waited, one was granted, and the other's re-entry had 4 ms until its "
     "wait_ms expired: it ended with HF_E_NOREPLY instead of HF_TIMEOUT"},
    {"grants_that_arrive_late_until_the_wait_ends", "P12",
     "each grant of a lease of 1 ms arrived after its end: the call ended with HF_TIMEOUT when its "
     "wait_ms expired, though nobody else held the lock"},
    {"renewed_by_hand_while_its_client_closes", "P12",
     "a renewal by hand that a close ended returned HF_E_NOREPLY, as if a server were silent"},
    {"renewed_by_hand_before_a_release", "P12",
     "the judge knew no cause for HF_LOST of a renewal by hand whose lease ended while the release "
     "of the hold waited for it"},
    {"a_call_and_a_renewal_without_replies", "P12",
     "a call with a long lease and a later renewal with a shorter one had no reply: merged into one "
     "claim, they ended before both, and the hold was lost at once"},
    {"a_fair_waiter_learns_of_a_holder_late", "label",
     "the rule demanded that a waiter of a fair lock knows the label of a holder of which it had "
     "learned 60 ms before"},
    {"resized_again_after_the_data_was_lost", "P11",
     "the judge counted a resize that was executed again after the server had lost its data as "
     "one that was executed twice"},
    {"extended_while_its_client_was_closed", "P12",
     "an extension was pending when its client was closed, and ended as if the server had not replied"},
    {"member_granted_again_beside_a_late_reply", "P12",
     "the judge counted a member that was granted again before its owner could know of it, while the "
     "reply of another member was late"},
    {"place_given_up_by_a_call_that_becomes_a_reentry", "P5",
     "the judge demanded the turn of a waiting call whose owner had been granted the lock by another "
     "call; the call becomes a re-entry and gives up its place"},
    {"quorum_released_while_a_client_is_closed", "P7",
     "without a background thread, callbacks were called at the end of a close, and the quorum's "
     "release waited for one"},
    {"held_again_by_its_own_late_acquire", "P2",
     "the judge demanded a report of a loss, although a copy of the owner's own acquire, late on a "
     "closed connection, had made the hold again before anybody else was granted it"},    {"acquired_again_while_a_look_is_pending", "P12",
     "after a switch of masters, the TTL that a look had read counted as the lease of a re-entry on "
     "another connection: a partial release made the lease shorter, and the loss was reported early"},
    {"extended_while_a_look_is_pending", "P12",
     "likewise of an extension: the loss was reported early"},
    {"extended_behind_a_power_failure", "P10",
     "the judge took an extension for the cause that a hold is shorter that a power failure had "
     "made shorter"},
    {"extended_behind_a_step_of_the_clock", "P10", "likewise of a step of the server's clock"},
    {"extended_when_three_members_are_shortened", "P10", "likewise of the members of a quorum"},
    {"granted_late_to_a_dead_quorum", "P9",
     "a member that was granted to a client that had died counted for its quorum, with a member that "
     "had been taken away before"},
    {"timeout_by_a_fast_clock", "P12",
     "the judge compared the duration of a wait with true time, and allowed only for the difference "
     "between the clocks of the client and the server"},
    {"max_hold_of_a_quorum_by_a_fast_clock", "P12",
     "the judge did not allow for a fast clock where the max_hold of a quorum ends"},
    {"places_without_times_behind_a_slot_that_moved", "P6",
     "the rule did not know that a slot that moves can leave a queue without the times of its places"},
    {"password_ends_on_a_swallowed_connection", "login",
     "the rule demanded a login on a connection on which nothing arrives at the server"},
};

/* Families of which these seeds must have no violation, and in which each effect of the family
 * occurs. */
static const struct past_world {
    const char *family;
    unsigned seeds; /* from 1 on */
} past_worlds[] = {
    {"silence", 40},
    {"credentials", 40},
    {"hosts", 40},
    {"switchover", 40},
    {"proxy", 40},
    {"disagree", 40},
    {"messages", 60},
    {"names", 40},
    {"labels", 40},
    {"outage", 60},
};

#endif
