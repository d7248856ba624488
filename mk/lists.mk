# What there is: a list for each floor, and of the tests. What is not named here
# is neither built nor run.

# With TLS, or without.
tls_yes  := tls_openssl tls_openssl_settings tls_openssl_words
tls_no   := tls_none

# The installed headers: all that a program may include.
HEADERS := holdfast.h resp/base.h resp/resp.h net/net.h net/version.h net/credentials.h lock/connect.h lock/lock.h lock/semaphore.h lock/latch.h lock/multi.h lock/quorum.h lock/permits.h lock/queue.h lock/token.h lock/by_owner.h lock/election.h lock/label.h lock/scope.h lock/dump.h lock/metrics.h lock/renew.h

# Installed beside holdfast.h; for C++ alone.
CXX_HEADERS := holdfast.hpp

RESP := status parse value copy double encode
NET  := $(addprefix base/,address_map dump endpoint error hash histogram info login mem metric_label random sized status thread \
            url url_query url_scan named_options utf8 version word_distance) \
        $(addprefix loop/,clock drive fork loop poller_$(EVENTS) spin wake_pipe \
            wheel) \
        $(addprefix wire/,dial race resolve socket stream wire $(tls_$(TLS))) \
        $(addprefix link/,channel_table subscribe_push conn conn_queue deadlines handshake link \
            link_attempt link_dump link_request link_error link_login link_handshake_mode link_probe link_rival link_state link_stats link_trace pubsub skip space too_large trace) \
        $(addprefix route/,preamble announced cluster_info cluster_view command command_state closed_connections discover discover_why \
            doubt lineage subscriptions probe redirect refusal replace replicas round router router_dump sentinel_words \
            server server_table silence slot slot_map slot_map_read switched topology topology_cluster tracking \
            topology_replicas topology_sentinel topology_standalone verdict)
LOCK := status \
        $(addprefix machine/,channel wait claims lease lease_pack multi_turn quorum_facts quorum_turn) \
        $(addprefix script/,scripts rights kind kind_reentrant kind_nonreentrant \
            kind_spin kind_value kind_fair kind_read_write \
            kind_semaphore kind_latch kind_permit names reply call call_end \
            declare missing_command patience) \
        $(addprefix record/,log table hold_lookup hold_work args op hold holder label label_request on_wait wait_queue wake_moved_slot listeners registration orphan shrink tally_add) \
        $(addprefix verb/,due_order reentry extend count acquire release query renew switch track) \
        $(addprefix api/,client_options stats queue close dump metrics metrics_sum client reload op_request lock semaphore latch permits token \
            by_owner renew label) \
        $(addprefix set/,same_server multi multi_call quorum quorum_answers \
            quorum_servers quorum_token quorum_losses quorum_call quorum_renew multi_renew \
            election)
CLI  := $(basename $(wildcard cli/*.c cli/*/*.c))
# holdfast-resp, which also uses cli/base.
RESP_TOOL := $(basename $(wildcard tools/resp/*.c))

SCRIPTS := acquire count_read count_set extend fair_acquire fair_drop fair_release \
           force_release hold_keys inspect latch_await latch_count_down latch_delete permit_acquire \
           permit_extend permit_force_release permit_inspect permit_read permit_release permit_renew permit_set \
           read_acquire read_extend read_release read_renew release renew \
           rw_force_release semaphore_acquire semaphore_delete semaphore_reduce semaphore_release semaphore_undo token_raise \
           value_acquire value_extend value_force_release value_inspect value_release value_renew \
           write_acquire write_release
# What scripts have in common: "--+ NAME" in them.
PARTS := fair_places number permit_id short_number tell token
SUPPORT := cluster executor fds feed gate handshake haproxy keeper local lua_client marks memory \
           lateness network nodes one_server openmetrics parts peer proxy reply request resp_answers \
           resp_reading resp_twin rw_steps sentinels server suite witness

tls_tests_yes := $(addprefix net_tls_,certs handshake stream memory link)
tls_tests_no  := net_tls_none
tls_live_yes  := tls tls_cluster tls_memory tls_refused tls_wire sentinel_tls run_reload
UNIT := resp_base resp_parse resp_value resp_copy resp_double resp_encode \
        resp_vectors resp_random \
        net_mem net_info net_sized net_url_words net_hash net_address_map net_wheel net_histogram net_spin net_url net_loop \
        net_loop_driver net_loop_tasks net_loop_thread net_resolve \
        net_race net_dial net_socket net_handshake net_conn net_conn_end \
        net_conn_life net_conn_limits net_conn_skip net_skip net_room net_trace \
        net_link_connect net_link_login net_link_request net_link_rival net_link_server \
        net_link_crowd net_pubsub net_wire net_cuts net_faults net_pace \
        net_slot net_slot_map net_round net_router \
        net_router_ends net_router_maps net_redirect net_refusal net_replace \
        net_sentinel_words net_sentinel net_sentinel_news net_replicas \
        lock_names lock_status lock_kind lock_reply lock_claims lock_lease lock_lease_pack \
        lock_metrics lock_wait lock_share lock_multi_turn lock_quorum_turn \
        cli_values cli_json cli_metrics cli_options cli_secret cli_run_state tools_resp \
        tools_resp_check cli_bench cli_doctor cli_ls cli_watch support history judge chaos_model \
        judge_naive judge_verdicts judge_overlap $(tls_tests_$(TLS))
LIVE := url slot cluster_map cluster_addresses cluster cluster_wait cluster_moves cluster_failover \
        sentinel_words sentinel sentinel_failover push_failover lock_switch replicas one_address haproxy proxy_words \
        lock lock_calls lock_nonreentrant lock_spin lock_value lock_fenced lock_tokens lock_fair fair_queue lock_by_owner lock_renew lock_callbacks lock_push push_kinds push_waiters \
        lock_wait lock_channels lock_share lock_watchdog lock_errors lock_absent silence lock_late \
        lock_shorter less strict credentials nat lock_cuts lock_faults lock_clock lock_network \
        semaphore latch permits lock_forged first_grant lock_acl lock_orphans lock_foreign lock_full lock_long halfway refused counts lock_replicas lock_memory \
        waiting lock_end dump metrics lock_label lock_fork lock_close idle_memory lock_soak rw_scripts lifecycle run run_loss \
        run_signals run_kinds run_fence run_sets elect acquire counted hold watch run_label run_guard run_ends run_inside run_status run_metrics run_service run_slot \
        lock_rw model model_cluster resp_check doctor bench ls ls_waiters multi multi_faults one_server quorum quorum_loss quorum_renew multi_renew election examples fencing \
        descriptors unlock_queue \
        $(tls_live_$(TLS))
VECTORS := score
# The programs that test deadlines on real servers, or compute much. With a sanitizer a program
# is two to four times as slow, so these would measure the machine. The simulation plays the same
# situations with a sanitizer, in virtual time. SANITIZE=... leaves them out, unless ALL=yes,
# which make nightly sets.
TIMED := net_spin lock_share lock_watchdog lock_absent lock_late lock_shorter lock_faults lock_foreign \
         lock_full lock_network lock_clock lock_switch lock_acl silence less one_address refused \
         credentials run_guard run_loss run_reload unlock_queue cluster_wait cluster_failover \
         sentinel_failover sentinel_tls tls_refused quorum_loss fair_queue fencing model model_cluster score \
         switch
LEFT_OUT := $(if $(SANITIZE),$(if $(filter yes,$(ALL)),,$(TIMED)))
UNIT := $(filter-out $(LEFT_OUT),$(UNIT))
LIVE := $(filter-out $(LEFT_OUT),$(LIVE))
VECTORS := $(filter-out $(LEFT_OUT),$(VECTORS))
# Programs that only compute. With a sanitizer their tests are run in one process (CK_FORK=no): a
# process for each test, and its search for leaks, costs 10 ms, many times the test itself. One search
# at the end finds the same leaks. Without a sanitizer each test has a process of its own.
TOGETHER := judge_verdicts judge_overlap history chaos_model \
            tools_resp tools_resp_check resp_base resp_parse resp_parse_bytewise resp_random resp_random_bytewise \
            resp_value resp_copy resp_double resp_encode \
            net_url net_url_words net_handshake net_tls_certs net_conn net_conn_skip net_conn_limits net_slot \
            net_slot_map net_wheel net_redirect net_refusal net_sentinel_words net_skip net_histogram net_hash net_mem \
            net_sized net_address_map net_room net_trace \
            lock_wait lock_names lock_lease lock_lease_pack lock_status lock_kind lock_reply lock_claims \
            lock_multi_turn lock_quorum_turn lock_metrics \
            cli_doctor cli_options cli_run_state cli_values cli_json cli_bench cli_metrics cli_watch
FUZZ := resp_parse resp_twin resp_encode tools_resp url topology judge
