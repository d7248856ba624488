# TLS by OpenSSL: is it there, and how is it linked?

# OpenSSL 1.1.1 or later, if the compiler finds its headers. pkg-config knows of
# those in a place of their own; without it, they are where all others are.
openssl     = $(shell $(PKG_CONFIG) $(1) openssl 2>/dev/null)
TLS_CFLAGS := $(call openssl,--cflags)
HAS_TLS    := $(shell printf '%s\n' '$(hash)include <openssl/opensslv.h>' \
              '$(hash)if OPENSSL_VERSION_NUMBER < 0x10101000L' \
              '$(hash)error' '$(hash)endif' | $(CC) $(CPPFLAGS) $(CFLAGS) $(TLS_CFLAGS) \
              -E - >/dev/null 2>&1 && echo yes || echo no)
TLS        ?= $(HAS_TLS)

# Without pkg-config, OpenSSL's own file says what libcrypto.a needs: Debian 13's needs zlib and
# zstd.
crypto_private = $(shell sed -n 's/^Libs\.private: *//p' \
                 "$$($(CC) -print-file-name=pkgconfig/libcrypto.pc)" 2>/dev/null)
openssl_shared = $(or $(call openssl,--libs),-lssl -lcrypto)
openssl_static = $(or $(call openssl,--libs --static),-lssl -lcrypto $(crypto_private))

TLS_LIBS := $(if $(filter yes,$(TLS)),-Wl$(comma)--as-needed \
            $(if $(STATIC),$(openssl_static),$(openssl_shared)))
