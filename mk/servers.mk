# Other servers, faults of all kinds for a while, and a real Redisson.

# Servers and proxies, unpacked and not installed; then kinds of locks, and the live
# tests, against each that is there.
#: make servers           unpacks servers and proxies, and tries all kinds on each
servers: deps all
	@tests/compatibility/fetch.sh
	@tests/compatibility/cells.sh $(BUILD)

#: make live-each         the live tests against each of them
live-each: deps all $(live_T) $(each_T)
	@tests/compatibility/each.sh $(BUILD)

# The tests of clusters once more, by the servers that fetch.sh has unpacked.
#: make live-each-cluster the tests of clusters alone, against each
live-each-cluster: deps all $(filter $(call live,cluster*),$(live_T))
	@HF_TEST_PROGRAMS='cluster*' tests/compatibility/each.sh $(BUILD)

# Slots that move in a circle under a thousand locks, for so many seconds.
SOAK_TIME ?= 300

#: make soak-cluster      locks while slots move, for SOAK_TIME=$(SOAK_TIME) s
soak-cluster: deps $(call live,cluster_moves)
	@HF_SOAK_S=$(SOAK_TIME) CK_RUN_CASE=moves \
	    $(call live,cluster_moves)

# ROUNDS masters are killed, with acknowledgement by replicas and without.
ROUNDS ?= 50

#: make soak-failover     locks while ROUNDS=$(ROUNDS) masters are killed
soak-failover: deps $(BUILD)/tests/soak/failover
	@HF_ROUNDS=$(ROUNDS) $(BUILD)/tests/soak/failover

# TRIALS masters are stopped in each of three ways, and continued after the
# failover.
TRIALS ?= 24

#: make soak-silence      locks while TRIALS=$(TRIALS) masters are stopped
soak-silence: deps $(BUILD)/tests/soak/silence
	@HF_TRIALS=$(TRIALS) $(BUILD)/tests/soak/silence

# HAProxy leads to the master, which changes so many times.
SWITCHES ?= 20

#: make soak-one-address  locks behind HAProxy while SWITCHES=$(SWITCHES) masters change
soak-one-address: deps $(BUILD)/tests/soak/one_address
	@HF_SWITCHES=$(SWITCHES) $(BUILD)/tests/soak/one_address

# Beside a real Redisson; skipped where there is no JDK or Maven.
#: make redisson          the same locks as a real Redisson (needs a JDK, Maven)
redisson: deps all $(redisson_T)
	@tests/redisson/run.sh $(BUILD)

# Processes of both, killed and replaced, for so many seconds.
REDISSON_SOAK_TIME ?= 600

#: make soak-redisson     locks beside Redisson, for REDISSON_SOAK_TIME=$(REDISSON_SOAK_TIME) s
soak-redisson: deps all $(redisson_soak_T)
	@REDISSON=4.7.0 HF_SOAK_S=$(REDISSON_SOAK_TIME) \
	    tests/redisson/run.sh $(BUILD) soak

#: make redisson-writer   how long a writer waits among fifty readers
redisson-writer: deps all $(writer_among_T)
	@REDISSON=4.7.0 tests/redisson/run.sh $(BUILD) writer

# Beside those who lock by SET NX PX; skipped where they are not to be had.
#: make others            value locks beside redis-py, node-redlock and redsync
others: deps all $(others_T)
	@tests/others/run.sh $(BUILD)

# What a lock protects, with the checkers of examples/fencing/.
#: make fencing           late writers and Redis, PostgreSQL, SQLite that refuse them
fencing: deps all $(call live,fencing)
	@tests/fencing/run.sh $(BUILD)

#: make valgrind          a client that loses its server, under valgrind
valgrind: deps all $(live_T)
	@tests/valgrind.sh $(BUILD)

.PHONY: servers live-each soak-cluster soak-failover soak-silence soak-redisson \
        soak-one-address live-each-cluster redisson redisson-writer others fencing valgrind
