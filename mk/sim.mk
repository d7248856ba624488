# The simulation (docs/simulation.md): the client in a simulated world.

sim_O := $(call objects,$(addprefix tests/sim/,plan plan_crowd plan_family plan_kinds plan_mild plan_names plan_rare plan_sets plan_text plan_verbs plan_worlds scenario scenario_answers scenario_counted \
           scenario_connections scenario_crossing scenario_failover scenario_messages scenario_outage scenario_queue \
           scenario_redirect scenario_slots scenario_unseen shrink))
run_O := $(call objects,$(addprefix tests/sim/,bounds by_owner call candidates counted counts disagree effects failover fault fault_server labels labels_told majority names nodes observer observer_count observer_permit observer_queue \
            operations outage owner peer program reshard run sentinels server sets sets_result site trace))
# Tests that drive a world themselves, without a plan (tests/sim/harness.h).
harness_tests := test_orphans test_quorum test_multi test_election test_by_owner test_tenant test_fork test_threads test_crowd test_masters
sim_T := $(addprefix $(BUILD)/tests/sim/,$(filter-out $(addprefix test_,$(LEFT_OUT)), \
           test_plan test_world test_world_faults test_model_alone test_seeds test_switch test_push \
           test_own_calls $(harness_tests)))

# These objects replace the library's files that use the system: they come before the
# libraries on the command line, so the linker uses them.
world_O := $(call objects,$(addprefix tests/sim/world/,world process fiber handles flow \
             connection network sim_clock sim_poller sim_random sim_resolve \
             sim_socket sim_wake_pipe))
$(addprefix $(BUILD)/tests/sim/,test_world test_world_faults): $(world_O) \
    $(call objects,tests/sim/world_kit)
$(addprefix $(BUILD)/tests/sim/,test_world test_world_faults test_seeds test_switch test_push test_own_calls $(harness_tests) sim): \
    LINK += $(call wrapped,sysconf)
# Its threads are simulated, too.
$(BUILD)/tests/sim/test_threads: $(call objects,tests/sim/threads_plan tests/sim/world/sim_threads)
$(BUILD)/tests/sim/test_threads: LINK += $(call wrapped,$(addprefix pthread_,join self \
    mutex_init mutex_destroy mutex_lock mutex_unlock cond_init cond_destroy cond_wait \
    cond_timedwait cond_signal cond_broadcast) sem_init sem_destroy sem_post sem_wait)

# Servers that run the real scripts, by Lua 5.1. They need nothing of the world.
# LUA_LINES=yes: the lines of scripts are counted.
model_O := $(call objects,$(addprefix tests/sim/model/,blob keyspace values look \
             reply access call client pubsub tracking acl replication lua lua_memory lua_number lua_values model \
             strings keys hashes lists zsets connection scripts server_commands sentinel \
             cluster lua_lines$(if $(LUA_LINES),,_none)))
# The static library is a tenth faster, and its strtod is replaced (lua_number.c).
LUA_LIBS := -l:liblua5.1.a -lm
$(addprefix $(BUILD)/tests/sim/,test_model_alone test_seeds test_switch test_push test_own_calls $(harness_tests) sim) \
    $(call live,model model_cluster) $(BUILD)/tests/exhaust/fair: LINK += $(call wrapped,strtod)
$(BUILD)/tests/sim/test_model_alone: $(model_O)
$(call live,model model_cluster): $(model_O) \
    $(call objects,$(addprefix tests/live/model/model_,twins words))
$(call live,model model_cluster quorum quorum_loss quorum_renew): \
    $(call objects,tests/support/one_clock) | $(BUILD)/tests/support/server_clock.so
$(call live,model model_cluster): CHECK_LIBS += $(LUA_LIBS)

# Loaded into a server, which has no sanitizer.
$(BUILD)/tests/support/server_clock.so: tests/support/server_clock.c
	@mkdir -p $(@D)
	$(call say,link $@)
	$(Q)$(COMPILE) -fno-sanitize=all -fvisibility=default -shared $< -o $@

# Optimized: it computes all the time. -g1 (lines, no variables) saves a quarter of the time
# to compile it.
ifeq ($(origin CFLAGS),file)
$(BUILD)/tests/sim/%.o: CFLAGS := -O2 -g1
endif

$(sim_T): LINK += $(call wrapped,_tcase_add_test _mark_point)
$(sim_T): %: %.o $(sim_O) $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LUA_LIBS) $(CHECK_LIBS) -o $@

check_T += $(sim_T)
build-tests: $(sim_T)

$(addprefix $(BUILD)/tests/sim/,test_seeds test_switch test_push test_own_calls $(harness_tests)): $(run_O) $(world_O) $(model_O) $(judge_O)
$(addprefix $(BUILD)/tests/sim/,$(harness_tests)): $(call objects,tests/sim/harness)
$(BUILD)/tests/sim/test_masters: $(call objects,tests/sim/masters)
$(BUILD)/tests/sim/sim: $(BUILD)/tests/sim/sim.o $(run_O) $(sim_O) $(world_O) \
                        $(model_O) $(judge_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LUA_LIBS) -o $@

build-tests: $(BUILD)/tests/sim/sim

# How cost grows beyond the size of a machine: make bench-growth.
$(BUILD)/tests/sim/growth: LINK += $(call wrapped,sysconf strtod _tcase_add_test \
    _mark_point hf_loop_dispatch hf_poller_wait hf_socket_read hf_socket_write)
$(BUILD)/tests/sim/growth: $(call objects,$(addprefix tests/sim/,growth masters harness)) \
    $(run_O) $(sim_O) $(world_O) $(model_O) $(judge_O) $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LUA_LIBS) $(CHECK_LIBS) -o $@

# Plans that a nightly run found come first.
#: make sim               the client in a simulated world, fresh seeds for
#:                        SIM_TIME=$(SIM_TIME) s; SEEDS=A..B: these
SIM_TIME ?= 60
sim: deps
	+@$(MAKE) --no-print-directory $(jobs) $(BUILD)/tests/sim/sim
	@for plan in $(wildcard $(BUILD)/nightly/corpus/*.plan); do \
	    $(BUILD)/tests/sim/sim --plan $$plan || exit; done
	@$(BUILD)/tests/sim/sim $(if $(SEEDS),--seeds $(SEEDS),\
	    --seconds $(SIM_TIME)) --jobs $(or $(SIM_JOBS),1)

# ONLY='3 17': these of tests/mutants/sim.txt; SIM_LIMIT=60: seconds for each.
#: make sim-mutants       which seed of the simulation finds each planted bug
sim-mutants: deps
	@tests/mutants/sim.sh $(BUILD)

# What the simulation alone reaches. What it does not must be in tests/sim/unreached.txt;
# each line and branch of it: build/sim-coverage/missed.
SIM_SEEDS ?= 3000
#: make sim-coverage      lines, branches and lines of scripts that SIM_SEEDS=$(SIM_SEEDS)
#:                        seeds, and as many with --family each, reach; fails on what is
#:                        not reached and not named
sim-coverage: deps
	+@$(MAKE) --no-print-directory $(jobs) BUILD=$(BUILD)/sim-coverage LUA_LINES=yes \
	    CFLAGS='-O1 -g --coverage' $(BUILD)/sim-coverage/tests/sim/sim
	@find $(BUILD)/sim-coverage -name '*.gcda' -delete
	@rm -f $(BUILD)/sim-coverage/lua_lines
	@for range in "all 1..$$(($(SIM_SEEDS) + 1))" "each 1..$$(($(SIM_SEEDS) + 1))" \
	    "crowd 1..121"; do \
	    HF_LUA_LINES=$(BUILD)/sim-coverage/lua_lines $(BUILD)/sim-coverage/tests/sim/sim \
	        --family $${range% *} --seeds $${range#* } --jobs $(or $(SIM_JOBS),1) --all || \
	        exit; done
	@tests/sim/coverage.sh $(BUILD)/sim-coverage $(patsubst %/,%,$(wildcard lock/ lock/*/)) net/route net/link

.PHONY: sim sim-coverage sim-mutants

# Programs that try every case: a few seconds by themselves, all with "full".
EXHAUST   := fair lease resp rest
exhaust_T := $(EXHAUST:%=$(BUILD)/tests/exhaust/%)

$(BUILD)/tests/exhaust/fair: $(BUILD)/tests/exhaust/fair_scenario.o $(model_O)
$(BUILD)/tests/exhaust/lease: $(call objects,$(addprefix tests/exhaust/,\
    client possible trail seen))
$(BUILD)/tests/exhaust/resp: $(call objects,$(addprefix tests/support/,\
    resp_reading resp_twin))

ifeq ($(origin CFLAGS),file)
$(BUILD)/tests/exhaust/%.o $(BUILD)/tests/support/resp_twin.o: CFLAGS := -O2 -g
endif

$(exhaust_T): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(if $(filter %/fair,$@),$(LUA_LIBS)) -o $@

check_T += $(exhaust_T)
build-tests: $(exhaust_T)

# The strings in two halves, for two processors.
#: make exhaust           every case of the lease, the fair order, the parser: minutes
exhaust: exhaust-lease exhaust-rest exhaust-fair exhaust-resp-0 exhaust-resp-1
exhaust-lease: $(BUILD)/tests/exhaust/lease
	@$< full
exhaust-rest: $(BUILD)/tests/exhaust/rest
	@$< full
exhaust-fair: $(BUILD)/tests/exhaust/fair
	@$< full
exhaust-resp-%: $(BUILD)/tests/exhaust/resp
	@$< full $* 2

.PHONY: exhaust exhaust-fair exhaust-lease exhaust-rest

# Real processes and servers, judged by the same judge.
CHAOS_TIME ?= 60
chaos_B := $(addprefix $(BUILD)/tests/soak/,chaos chaos_worker chaos_sets)
chaos_workers_B := $(filter-out %/chaos,$(chaos_B))

$(BUILD)/tests/soak/chaos: $(judge_O) $(call objects,\
    $(addprefix tests/soak/chaos_,commands faults guarded model monitor place run said \
    verdict watch))
$(chaos_workers_B): LINK += $(call wrapped,connect send)
$(chaos_workers_B): %: %.o $(BUILD)/tests/soak/chaos_network.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) -o $@
build-tests: $(chaos_B)

#: make chaos             real servers and processes, and faults of all kinds, for
#:                        CHAOS_TIME=$(CHAOS_TIME) seconds; HF_CHAOS=cluster: one place
chaos: deps $(chaos_B)
	@HF_SECONDS=$(CHAOS_TIME) $(BUILD)/tests/soak/chaos

#: make chaos-bugs        bugs put in on purpose, which make chaos must find
chaos-bugs: deps $(chaos_B)
	@for bug in belief wake sets; do \
	    HF_CHAOS_BUG=$$bug $(BUILD)/tests/soak/chaos || exit; done

.PHONY: chaos chaos-bugs
