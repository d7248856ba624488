# How good the tests of resp/ are, and what a byte costs it; resp/ on other machines.

# Lines, branches and MC/DC of resp/: all but what tests/coverage/exceptions.txt
# names.
#: make coverage          lines, branches and MC/DC of resp/ (needs clang 19)
coverage: deps deps-coverage
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CC=clang-19 \
	    CFLAGS='-g -fprofile-instr-generate -fcoverage-mapping \
	    -fcoverage-mcdc -fcoverage-compilation-dir=.' coverage-built

resp_T := $(filter $(BUILD)/tests/test_resp_%,$(unit_T))

coverage-built: $(resp_T) $(bytewise_T)
	@tests/coverage/run.sh $(BUILD) '$(RESP:%=resp/%.c)' '$(resp_T)' \
	    '$(bytewise_T)'

# Plants bugs one by one, and shows which test finds each. The slowest test runs
# last. ONLY=net/route/round.c MUTANTS=net: those of a file.
MUTANTS ?= resp net lock

#: make mutants           which test finds each planted bug
mutants: deps
	@for floor in $(MUTANTS); do tests/mutants/run.sh $(BUILD) $$floor.txt \
	    '$(patsubst $(BUILD)/%,%,$(filter-out %_vectors,$(resp_T)) \
	                             $(filter %_vectors,$(resp_T)))' \
	    "$$([ $$floor != resp ] || echo \
	        $(filter fuzz/fuzz_resp_%,$(FUZZ:%=fuzz/fuzz_%)))" || exit; done

# Instructions per byte, of hostile replies too: those of
# tests/instructions/expected.txt?
#: make instructions      what a byte costs the parser, against a file
instructions:
	@tests/instructions/run.sh $(BUILD)

# Each machine brings its packages, or is skipped.
#: make cross             the tests of resp/ on i386, armhf, s390x and musl
cross:
	@tests/cross/run.sh $(BUILD)

.PHONY: coverage coverage-built mutants instructions cross
