# make            the libraries and build/holdfast
# make check      installs what is missing, builds, runs every test
# make demo       two processes, one lock, on a private server
# make help       the other targets, which are in mk/ by subject: grep '^#:' mk/*
#
# CC CPPFLAGS CFLAGS LDFLAGS PREFIX DESTDIR are the user's; ours are appended.
#   BINDIR LIBDIR INCLUDEDIR MANDIR DOCDIR  LIBRARIES=static or shared: only these
#   TEST_CFLAGS='-O0 -g1' compiles the tests that mostly wait faster than CFLAGS would
#   SANITIZE=address,undefined or thread   EVENTS=epoll or poll   BUILD=folder
#   TRAPS=yes: undefined behavior is a trap, with a stack and no message: faster to build
#   ASSERTS=yes (the default with SANITIZE): the code checks its own rules
#   TLS=yes (by OpenSSL; the default where that is installed) or no   PKG_CONFIG AR STRIP
#   WERROR=-Werror makes warnings errors, as make check does in the repository
#   V=1 shows the commands

CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/holdfast
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
LIBRARIES ?= static shared
STRIP   ?= strip
PKG_CONFIG ?= pkg-config
EVENTS  ?= epoll
comma   := ,
hash    := \#

STATIC := $(filter -static -static-pie,$(CFLAGS) $(LDFLAGS))
include mk/tls.mk
ASSERTS ?= $(if $(SANITIZE),yes,no)
BUILD   ?= build$(if $(filter yes,$(ASSERTS)),$(if $(SANITIZE),,-asserts))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if \
           $(filter poll,$(EVENTS)),-poll)$(if \
           $(filter no-yes,$(TLS)-$(HAS_TLS)),-notls)
VERSION := $(shell awk '/^.define HF_VERSION_(MAJOR|MINOR|PATCH) / \
    { printf "%s%s", dot, $$3; dot = "." }' net/version.h)
# The number of the binary interface, in the name of the shared library.
SOVERSION := 0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef -Wvla \
        -Wconversion
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
        -fno-omit-frame-pointer $(if $(filter yes,$(TRAPS)),-fsanitize-undefined-trap-on-error))
OURS := -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) -fvisibility=hidden -fPIC \
        -fno-semantic-interposition -pthread \
        -MMD -MP $(SAN) \
        $(if $(filter yes,$(ASSERTS)),-DHF_ASSERTS)
# Warnings stand in front of the user's flags, so that -Wno-error and the like
# count. So do flags of the library that a user may want otherwise: LEAN.
COMPILE = $(CC) $(WARN) $(WERROR) $(LEAN) $(CPPFLAGS) $(CFLAGS) $(OURS)
Q    := $(if $(V),,@)
say   = $(if $(V),,@echo '  $(1)')
LINK := $(CFLAGS) $(LDFLAGS) -pthread $(SAN)

include mk/lists.mk

#: make                   the libraries and the commands, in $(BUILD)/
all: $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a \
     $(BUILD)/libholdfast.a $(BUILD)/libholdfast.so $(BUILD)/holdfast $(BUILD)/holdfast-resp

objects = $(patsubst %,$(BUILD)/%.o,$(1))
resp_O := $(call objects,$(RESP:%=resp/%))
net_O  := $(call objects,$(NET:%=net/%))
lock_O := $(call objects,$(LOCK:%=lock/%))
cli_O  := $(call objects,$(CLI))
resp_tool_O := $(call objects,$(RESP_TOOL))
LIBS   := $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a

scripts_L := $(SCRIPTS:%=lock/script/lua/%.lua)

$(BUILD)/%.o: %.c | $(BUILD)/lock/script/script_names.h
	@mkdir -p $(@D)
	$(call say,compile $<)
	$(Q)$(COMPILE) -c $< -o $@

$(BUILD)/lock/script/scripts.c $(BUILD)/lock/script/script_names.h: \
    lock/script/lua/embed.sh $(scripts_L) $(PARTS:%=lock/script/lua/%.lua) mk/lists.mk
	@mkdir -p $(@D)
	$(Q)lock/script/lua/embed.sh $(if $(filter %.h,$@),--names) $(scripts_L) \
	    > $@.new && mv $@.new $@

$(BUILD)/lock/script/scripts.o: $(BUILD)/lock/script/scripts.c $(BUILD)/lock/script/script_names.h
	$(call say,compile $<)
	$(Q)$(COMPILE) -c $< -o $@

# A seventh of the library would be tables for unwinding, which only exceptions need: callbacks
# throw none (connect.h), and debuggers use the tables of -g. Sanitizers print stacks by them. Sections
# let a static program drop what it does not use, by -Wl,--gc-sections.
$(resp_O) $(net_O) $(lock_O): LEAN := $(if $(SANITIZE),,-fno-asynchronous-unwind-tables) \
    -ffunction-sections -fdata-sections
$(resp_O): OURS += -fno-inline-functions

$(BUILD)/libhf_resp.a: $(resp_O)
$(BUILD)/libhf_net.a: $(net_O)
$(BUILD)/libhf_lock.a: $(lock_O)
$(BUILD)/libholdfast.a: $(lock_O) $(net_O) $(resp_O)
$(BUILD)/libh%.a:
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

# A shared library is never static, whatever else is to be.
$(BUILD)/libholdfast.so: $(lock_O) $(net_O) $(resp_O) packages/libholdfast.map
	$(call say,link $@)
	$(Q)$(CC) $(filter-out $(STATIC),$(LINK)) -shared \
	    -Wl,-soname,libholdfast.so.$(SOVERSION) \
	    -Wl,--version-script=packages/libholdfast.map -Wl,--gc-sections \
	    $(filter %.o,$^) $(TLS_LIBS) -o $@

# OpenSSL's headers may come or go between two builds in the same folder: what
# was made in the other way is out of date.
$(BUILD)/libhf_net.a $(BUILD)/libholdfast.a $(BUILD)/libholdfast.so: \
    $(BUILD)/tls-$(TLS)
$(BUILD)/tls-$(TLS):
	@mkdir -p $(@D) && rm -f $(@D)/tls-yes $(@D)/tls-no && touch $@
	$(if $(filter no-no,$(TLS)-$(HAS_TLS)),@echo \
	    '  without TLS: no headers of OpenSSL 1.1.1 or later (libssl-dev)')

$(BUILD)/holdfast: $(cli_O) $(LIBS)
$(BUILD)/holdfast-resp: $(resp_tool_O) $(filter $(BUILD)/cli/base/%,$(cli_O)) $(LIBS)
$(BUILD)/holdfast $(BUILD)/holdfast-resp:
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(TLS_LIBS) -o $@

include mk/install.mk
include mk/dist.mk
include mk/judge.mk
include mk/tests.mk
include mk/sim.mk
include mk/nightly.mk
include mk/checks.mk
include mk/vectors.mk
include mk/servers.mk
include mk/torture.mk
include mk/resp.mk
include mk/embed.mk
include mk/bindings.mk
include mk/fuzz.mk
include mk/bench.mk

#: make clean             removes build/ and all build-* folders
clean:
	rm -rf build build-*

# A line "#: make TARGET" stands above each target for users; that is the help.
shown := BUILD DIST SUITES PREFIX DESTDIR FUZZ_TIME FUZZ_GOAL SOAK_TIME \
         CHAOS_TIME SIM_TIME ROUNDS TRIALS N HOURS
help:
	@sed -n $(foreach name,$(shown),-e 's|$$($(name))|$($(name))|g') \
	    -e 's/^#: //p' $(filter Makefile %.mk,$(MAKEFILE_LIST))

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
.PHONY: all clean help
