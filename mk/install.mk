# Examples, what a machine needs, and an installation.

loops_B    := $(addprefix $(BUILD)/examples/loop_,epoll event uv)
fenced_B   := $(BUILD)/examples/fencing/fenced_write
examples_B := $(BUILD)/examples/hold $(loops_B) $(fenced_B)

$(loops_B): $(BUILD)/examples/job.o
$(fenced_B): $(BUILD)/examples/fencing/fence.o
$(BUILD)/examples/loop_event: LOOP_LIBS := -levent_core
$(BUILD)/examples/loop_uv: LOOP_LIBS := -luv

$(examples_B): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LOOP_LIBS) -o $@

# It needs a server, and nothing else: the user's, or one of its own.
#: make demo              what it does, shown
demo:
	@[ -n "$$HOLDFAST_URL" ] || command -v redis-server >/dev/null || \
	    tests/deps.sh deps-demo
	+@$(MAKE) --no-print-directory $(jobs) all
	@examples/demo.sh $(BUILD)/holdfast

#: make deps              as root, or with SUDO=sudo: installs Debian packages;
#:                        otherwise says which are missing
deps deps-bench deps-coverage deps-embed deps-fuzz deps-musl:
	@tests/deps.sh $@

#: make install           PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	    $(DESTDIR)$(PREFIX)/include/holdfast/resp \
	    $(DESTDIR)$(PREFIX)/include/holdfast/net \
	    $(DESTDIR)$(PREFIX)/include/holdfast/lock \
	    $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/holdfast $(BUILD)/holdfast-resp $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/libholdfast.a $(BUILD)/libhf_resp.a \
	    $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(BUILD)/libholdfast.so \
	    $(DESTDIR)$(PREFIX)/lib/libholdfast.so.0
	ln -sf libholdfast.so.0 $(DESTDIR)$(PREFIX)/lib/libholdfast.so
	for file in $(HEADERS); do install -m 644 $$file \
	    $(DESTDIR)$(PREFIX)/include/holdfast/$$file || exit; done
	install -m 644 docs/holdfast.1 tools/holdfast-resp.1 $(DESTDIR)$(PREFIX)/share/man/man1
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@TLS@|$(if $(filter yes,$(TLS)),$(or \
	        $(call openssl,--static --libs),-lssl -lcrypto))|' \
	    holdfast.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/holdfast.pc
	chmod 644 $(DESTDIR)$(PREFIX)/lib/pkgconfig/holdfast.pc
	@[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || \
	    PATH="$$PATH:/sbin" ldconfig 2>/dev/null || :

.PHONY: demo deps deps-bench deps-coverage deps-embed deps-fuzz install
