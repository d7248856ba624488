# make            the libraries and build/holdfast
# make check      installs what is missing, builds, runs every test
# make help       the other targets
#
# CC CFLAGS LDFLAGS PREFIX DESTDIR are the user's; ours are appended.
#   SANITIZE=address,undefined or thread   EVENTS=epoll or poll

CC      ?= cc
CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
BUILD   ?= build
EVENTS  ?= $(if $(filter Linux,$(shell uname -s)),epoll,poll)
VERSION := 0.1.0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef \
        -Wvla -Werror
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
        -fno-omit-frame-pointer)
OURS := -std=c11 -D_GNU_SOURCE -I. -I$(BUILD) -fvisibility=hidden -fPIC \
        -pthread -MMD -MP -DHF_VERSION='"$(VERSION)"' $(WARN) $(SAN)
LINK := -pthread $(SAN)

RESP := status parse value encode
NET  := mem error wheel clock poller_$(EVENTS) loop resolve url socket conn \
        link pubsub
LOCK := scripts owner hold wait client lock
CLI  := main

SCRIPTS := $(wildcard lock/scripts/*.lua)

FLOORS  := resp net lock
LIBS    := $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a

all: $(LIBS) $(BUILD)/holdfast

resp_OBJ := $(RESP:%=$(BUILD)/resp/%.o)
net_OBJ  := $(NET:%=$(BUILD)/net/%.o)
lock_OBJ := $(LOCK:%=$(BUILD)/lock/%.o)
cli_OBJ  := $(CLI:%=$(BUILD)/cli/%.o)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(OURS) -c $< -o $@

$(BUILD)/libhf_resp.a: $(resp_OBJ)
$(BUILD)/libhf_net.a: $(net_OBJ)
$(BUILD)/libhf_lock.a: $(lock_OBJ)
$(BUILD)/libhf_%.a:
	@rm -f $@
	$(AR) rcs $@ $^

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all clean
