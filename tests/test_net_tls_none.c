/* A build without TLS says so. */
#include <check.h>

#include "net/base/mem.h"
#include "net/wire/tls.h"
#include "tests/support/suite.h"

START_TEST(tls_that_is_not_built_in_is_refused_with_a_message)
{
    struct hf_tls_options options = {.is_unverified = true};
    struct hf_tls_context *context = NULL;
    struct hf_error error;

    ck_assert_ptr_null(hf_tls_library());
    ck_assert_int_eq(hf_tls_context_new(&context, &hf_mem_libc, &options,
                                        "localhost", &error),
                     HF_E_TLS);
    ck_assert_int_eq(error.status, HF_E_TLS);
    ck_assert_str_eq(error.text, "TLS is not built in; build holdfast with "
                                 "TLS=yes (it needs OpenSSL), or use redis://");
    ck_assert_ptr_null(context);
    hf_tls_context_free(context);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/tls, none");
    TCase *c = tcase_create("none");

    tcase_add_test(c, tls_that_is_not_built_in_is_refused_with_a_message);
    suite_add_tcase(s, c);
    return suite_run(s);
}
