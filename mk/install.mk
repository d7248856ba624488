# Examples, what a machine needs, and an installation.

loops_B    := $(addprefix $(BUILD)/examples/loop_,epoll event uv)
fenced_B   := $(BUILD)/examples/fencing/fenced_write
examples_B := $(BUILD)/examples/hold $(BUILD)/examples/otel $(loops_B) $(fenced_B)

# Examples include the headers as an installation has them.
$(examples_B:%=%.o) $(BUILD)/examples/job.o $(BUILD)/examples/fencing/fence.o: \
    OURS += -I$(BUILD)/include
$(examples_B:%=%.o) $(BUILD)/examples/job.o: | $(HEADERS:%=$(BUILD)/include/holdfast/%)

$(loops_B): $(BUILD)/examples/job.o
$(fenced_B): $(BUILD)/examples/fencing/fence.o
$(BUILD)/examples/loop_event: LOOP_LIBS := -levent_core
$(BUILD)/examples/loop_uv: LOOP_LIBS := -luv

$(examples_B): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LOOP_LIBS) -o $@

# It needs a server, and nothing else: the user's, or one of its own.
#: make demo              runs a demonstration
demo:
	@[ -n "$$HOLDFAST_URL" ] || command -v redis-server >/dev/null || \
	    tests/deps.sh deps-demo
	+@$(MAKE) --no-print-directory $(jobs) all
	@examples/demo.sh $(BUILD)/holdfast

#: make deps              as root, or with SUDO=sudo: installs Debian packages;
#:                        otherwise says which are missing
deps deps-bench deps-coverage deps-embed deps-fuzz deps-html deps-musl deps-packages:
	@tests/deps.sh $@

# ---- installation ----

# In an installed header, the path of an include is relative to the header's own folder:
# the compiler then finds no net/net.h of the program instead, whatever the order of -I.
headers_I := $(patsubst %,$(BUILD)/include/holdfast/%,$(HEADERS) $(CXX_HEADERS))
all: $(headers_I)
$(headers_I): $(BUILD)/include/holdfast/%: %
	@mkdir -p $(@D)
	$(Q)sed -E $(if $(findstring /,$*),'s|^(# *include ")|\1../|',-n p) $< > $@

# The manual pages of the library are written from its headers, and the names of these pages are
# known when they are installed or removed.
all: $(BUILD)/man3/holdfast.3
$(BUILD)/man3/holdfast.3: $(HEADERS) README.md docs/holdfast.1 mk/man3.sh mk/man3.awk
	$(call say,write $(@D))
	$(Q)mk/man3.sh $(@D) docs/holdfast.1 $(HEADERS)
man3_names = $(call once,man3_names,mk/man3.sh --names $(HEADERS))
man3 = $(addprefix $(BUILD)/man3/,$(man3_names))

# bash looks for a file with the command's name.
all: $(BUILD)/completions/holdfast
$(BUILD)/completions/holdfast: completions/holdfast.bash
	@mkdir -p $(@D)
	$(Q)cp $< $@

# Static linking needs these, too.
private_libs = $(strip $(if $(filter yes,$(TLS)),$(openssl_static)) -pthread)
# PREFIX stays a variable in the files of pkg-config.
pc_folder = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
fill = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
    -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
    -e 's|@PC_LIBDIR@|$(call pc_folder,$(LIBDIR))|' \
    -e 's|@PC_INCLUDEDIR@|$(call pc_folder,$(INCLUDEDIR))|' \
    -e 's|@SOVERSION@|$(SOVERSION)|' -e 's|@PRIVATE@|$(private_libs)|' \
    -e 's|@IF_STATIC@|$(if $(is_shared),, $(private_libs))|'

is_static = $(filter static,$(LIBRARIES))
is_shared = $(filter shared,$(LIBRARIES))
archives  = $(if $(is_static),$(BUILD)/libholdfast.a $(BUILD)/libhf_resp.a)

# Everything that an installation consists of: install puts it there, uninstall drops it.
# One line for each folder: mode, folder, files.
define installed
$(call $(1),755,$(BINDIR),$(BUILD)/holdfast $(BUILD)/holdfast-resp)
$(call $(1),644,$(LIBDIR),$(archives))
$(if $(is_shared),$(call $(1)_shared,$(DESTDIR)$(LIBDIR)/libholdfast.so))
$(call $(1)_filled,$(LIBDIR)/pkgconfig,holdfast.pc)
$(if $(is_static),$(call $(1)_filled,$(LIBDIR)/pkgconfig,holdfast-resp.pc))
$(call $(1)_filled,$(LIBDIR)/cmake/holdfast,holdfast-config.cmake)
$(call $(1)_filled,$(LIBDIR)/cmake/holdfast,holdfast-config-version.cmake)
$(call $(1),644,$(INCLUDEDIR)/holdfast,$(patsubst %,$(BUILD)/include/holdfast/%,holdfast.h $(CXX_HEADERS)))
$(call $(1),644,$(INCLUDEDIR)/holdfast/resp,$(filter $(BUILD)/include/holdfast/resp/%,$(headers_I)))
$(call $(1),644,$(INCLUDEDIR)/holdfast/net,$(filter $(BUILD)/include/holdfast/net/%,$(headers_I)))
$(call $(1),644,$(INCLUDEDIR)/holdfast/lock,$(filter $(BUILD)/include/holdfast/lock/%,$(headers_I)))
$(call $(1),644,$(MANDIR)/man1,docs/holdfast.1 tools/holdfast-resp.1)
$(call $(1),644,$(MANDIR)/man3,$(man3))
$(call $(1),644,$(MANDIR)/man7,docs/holdfast-url.7)
$(call $(1),644,$(BASHCOMPDIR),$(BUILD)/completions/holdfast)
$(call $(1),644,$(ZSHCOMPDIR),completions/_holdfast)
$(call $(1),644,$(FISHCOMPDIR),completions/holdfast.fish)
$(call $(1),644,$(DOCDIR),LICENSE README.md CHANGELOG.md)
$(call $(1),644,$(DOCDIR)/docs,$(wildcard docs/*.md docs/*.svg))
$(call $(1),644,$(DOCDIR)/examples,$(wildcard examples/*.[ch] examples/*.cpp examples/*.sh))
$(call $(1),644,$(DOCDIR)/examples/fencing,$(wildcard examples/fencing/*))
$(call $(1),644,$(DOCDIR)/examples/go,$(wildcard examples/go/*))
$(call $(1),644,$(DOCDIR)/examples/rust,$(wildcard examples/rust/*.*))
$(call $(1),644,$(DOCDIR)/examples/rust/src,$(wildcard examples/rust/src/*))
$(call $(1),644,$(DOCDIR)/examples/grafana,$(wildcard examples/grafana/*))
$(call $(1),644,$(DOCDIR)/examples/prometheus,$(wildcard examples/prometheus/*))
$(call $(1),644,$(DOCDIR)/examples/service,$(wildcard examples/service/*))
$(call $(1)_links)
endef
# The folders that are holdfast's alone, each after those in it.
own_folders = $(LIBDIR)/cmake/holdfast $(addprefix $(INCLUDEDIR)/holdfast,/resp /net /lock) \
    $(INCLUDEDIR)/holdfast $(addprefix $(DOCDIR),/docs /examples/fencing /examples/go \
    /examples/rust/src /examples/rust /examples/grafana /examples/prometheus /examples/service /examples) $(DOCDIR)

into        = install -d $(DESTDIR)$(1)
put         = $(if $(3),$(call into,$(2)) && install -m $(1) $(3) $(DESTDIR)$(2))
put_filled  = $(call into,$(1)) && $(fill) packages/$(2).in > $(DESTDIR)$(1)/$(2) && \
    chmod 644 $(DESTDIR)$(1)/$(2)
put_shared  = $(call into,$(LIBDIR)) && install -m 755 $(BUILD)/libholdfast.so $(1).$(VERSION) && \
    ln -sf libholdfast.so.$(VERSION) $(1).$(SOVERSION) && ln -sf libholdfast.so.$(SOVERSION) $(1)
put_links   = mk/doc_links.sh "$(DESTDIR)" $(DOCDIR) $(INCLUDEDIR)
drop        = $(if $(3),rm -f $(addprefix $(DESTDIR)$(2)/,$(notdir $(3))))
drop_filled = rm -f $(DESTDIR)$(1)/$(2)
drop_shared = rm -f $(1).$(VERSION) $(1).$(SOVERSION) $(1)
# The loader looks up new libraries in a cache.
loader      = @[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || \
    PATH="$$PATH:/sbin" ldconfig 2>/dev/null || :

#: make completions       writes completions/ for bash, zsh and fish from the help
completions: $(BUILD)/holdfast
	@completions/generate.pl $(BUILD)/holdfast completions

#: make install           to PREFIX=$(PREFIX) DESTDIR=$(DESTDIR); also BINDIR LIBDIR
#:                        INCLUDEDIR MANDIR DOCDIR; LIBRARIES=static or shared: only these;
#:                        install-strip: without symbols; uninstall: the reverse
install: all
	$(call installed,put)
	$(loader)

install-strip: install
	$(STRIP) --strip-unneeded $(DESTDIR)$(BINDIR)/holdfast $(DESTDIR)$(BINDIR)/holdfast-resp \
	    $(addprefix $(DESTDIR)$(LIBDIR)/,$(notdir $(archives)) \
	    $(if $(is_shared),libholdfast.so.$(VERSION)))

# With the same variables as install.
uninstall:
	$(call installed,drop)
	@for folder in $(own_folders:%=$(DESTDIR)%); do rmdir "$$folder" 2>/dev/null || :; done
	$(loader)

.PHONY: completions demo deps deps-bench deps-coverage deps-embed deps-fuzz deps-html install install-strip uninstall
