# The vectors of tests/vectors/, and who reads them right.

# What the vectors say of holdfast and of hiredis: the installed one, and the
# newest of Debian (bench/peers.sh).
#: make vectors           what the RESP vectors say of holdfast and of hiredis
vectors: deps
	@bench/peers.sh
	+@$(MAKE) --no-print-directory vectors-built

scores := holdfast hiredis $(if $(wildcard build-peers/usr),hiredis_newest)
score_B := $(scores:%=$(BUILD)/tests/vectors/score_%)

# The adapter of docs/resp-vectors.md, as its reader would copy it.
$(BUILD)/tests/vectors/example.c: docs/resp-vectors.md
	@mkdir -p $(@D)
	@awk '/^```c$$/ {on = 1; next} /^```$$/ {on = 0} on' $< >$@

$(BUILD)/tests/vectors/example.o: $(BUILD)/tests/vectors/example.c
	$(Q)$(COMPILE) -c $< -o $@

vectors-built: $(score_B) $(BUILD)/tests/vectors/score_example \
               $(BUILD)/tests/locale/comma
	@tests/vectors/report.sh $(score_B)

$(BUILD)/tests/vectors/hiredis_newest.o: tests/vectors/hiredis.c
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Ibuild-peers/usr/include -c $< -o $@

$(BUILD)/tests/vectors/score_%: $(BUILD)/tests/vectors/%.o $(score_O) \
                                $(BUILD)/tests/vectors/main.o $(BUILD)/libhf_resp.a
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(if $(findstring newest,$@),$(wildcard \
	    build-peers/usr/lib/*/libhiredis.a),-l:libhiredis.a) -lm -o $@

.PHONY: vectors vectors-built
