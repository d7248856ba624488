# holdfast, or resp/ alone, in files that are copied into other programs; how large it is.

AMALGAMATION ?= $(BUILD)/amalgamation
# What one build leaves out is included too, under a condition (mk/amalgamate.pl).
amalgamated = $(RESP:%=resp/%.c) \
    $(filter-out net/wire/tls_% net/loop/poller_%,$(NET:%=net/%.c)) \
    net/loop/poller_epoll.c net/loop/poller_poll.c \
    $(tls_yes:%=net/wire/%.c) $(tls_no:%=net/wire/%.c) $(LOCK:%=lock/%.c)

#: make amalgamation      holdfast as holdfast.h and holdfast.c, resp/ as hf_resp.h and
#:                        hf_resp.c, to be copied: in AMALGAMATION=$(BUILD)/amalgamation
amalgamation: $(BUILD)/lock/script/scripts.c $(BUILD)/lock/script/script_names.h
	@resp/amalgamate.sh $(AMALGAMATION)
	@mk/amalgamate.pl $(AMALGAMATION) $(BUILD) $(amalgamated)
	@cp $(CXX_HEADERS) $(AMALGAMATION)

#: make amalgamation-check  is the first pair what docs/embedding.md says?
amalgamation-check: deps deps-embed deps-musl amalgamation
	@tests/embed/amalgamation.sh $(BUILD) $(MAKE)

#: make cpp-check         does holdfast.hpp do what it says, with g++ and clang++?
cpp-check: deps deps-embed all
	@tests/embed/cpp.sh $(BUILD)

#: make cmake-check       does a program that adds the tree by add_subdirectory build and run?
cmake-check: all
	@tests/embed/cmake.sh $(BUILD)

#: make sizes             how large the library and a small program are, against bounds
sizes: deps amalgamation $(BUILD)/libholdfast.so
	@tests/embed/sizes.sh $(BUILD)

#: make embed             is the second pair what docs/embedding-resp.md says?
embed: deps-embed
	@tests/embed/run.sh $(BUILD)

.PHONY: amalgamation amalgamation-check cmake-check cpp-check sizes embed
