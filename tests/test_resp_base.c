/* What all floors share: the names and texts of status codes, and the list. */
#include <check.h>
#include <string.h>

#include "resp/base.h"
#include "tests/support/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- status codes ---- */

static const struct status_row {
    hf_status status;
    const char *name;
    const char *text;
} status_rows[] = {
#define ROW(name, value, text) {name, #name, text},
    HF_RESP_STATUS_MAP(ROW)
#undef ROW
};

START_TEST(status_has_name_and_text)
{
    const struct status_row *row = &status_rows[_i];

    ck_assert_str_eq(hf_resp_status_name(row->status), row->name);
    ck_assert_str_eq(hf_resp_status_text(row->status), row->text);
}
END_TEST

/* Beside those that there are, of other floors, and 2^16 away from one. */
static const int unknown_rows[] = {3, -1, -6, -99, -100, -113, 65536,
                                   -104 - 65536};

START_TEST(unknown_status_also_has_a_name_and_a_text)
{
    hf_status status = (hf_status)unknown_rows[_i];

    ck_assert_str_eq(hf_resp_status_name(status), "HF_?");
    ck_assert_str_eq(hf_resp_status_text(status),
                     "a status that this version does not know");
}
END_TEST

/* ---- the list ---- */

#define MEMBERS 4

/* A list and what may be in it; a member's id is its index. */
struct member {
    int id;
    struct hf_list link;
};

static struct hf_list head, other;
static struct member members[MEMBERS];

/* The ids of a list's members in order, as text; backwards they must be the
 * same. */
static const char *ids(const struct hf_list *list)
{
    static char text[MEMBERS + 1];
    const struct hf_list *l;
    size_t count = 0;

    for (l = list->next; l != list; l = l->next)
        text[count++] = (char)('0' + HF_OWNER_OF(l, struct member, link)->id);
    text[count] = '\0';
    for (l = list->prev; l != list; l = l->prev)
        ck_assert_int_eq(HF_OWNER_OF(l, struct member, link)->id,
                         text[--count] - '0');
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(hf_list_is_empty(list), *text == '\0');
    ck_assert_uint_eq(hf_list_count(list), strlen(text));
    return text;
}

/* Makes a list of `count` members, from `first` on. */
static void fill(struct hf_list *list, int first, int count)
{
    hf_list_init(list);
    for (int id = first; id < first + count; id++) {
        members[id].id = id;
        hf_list_init(&members[id].link);
        hf_list_push(list, &members[id].link);
    }
}

START_TEST(list_keeps_the_order_of_pushes)
{
    fill(&head, 0, 0);
    ck_assert_str_eq(ids(&head), "");
    fill(&head, 0, 1);
    ck_assert_str_eq(ids(&head), "0");
    fill(&head, 0, MEMBERS);
    ck_assert_str_eq(ids(&head), "0123");
}
END_TEST

static const char *const without_rows[] = {"123", "023", "013", "012"};

START_TEST(member_leaves_the_others_in_their_order)
{
    struct hf_list *link = &members[_i].link;

    fill(&head, 0, MEMBERS);
    hf_list_remove(link);
    ck_assert_str_eq(ids(&head), without_rows[_i]);
    ck_assert(hf_list_is_empty(link));
    hf_list_remove(link);   /* it is in no list: nothing happens */
    ck_assert_str_eq(ids(&head), without_rows[_i]);
}
END_TEST

START_TEST(list_whose_member_was_overwritten_is_not_whole)
{
    struct hf_list *next;

    fill(&head, 0, 3);
    ck_assert(hf_list_is_whole(&head));
    ck_assert(hf_list_is_whole(&members[1].link));
    next = members[1].link.next;
    members[1].link.next = &members[0].link;
    ck_assert(!hf_list_is_whole(&members[1].link));
    members[1].link.next = next;
    members[0].link.next = &head;
    ck_assert(!hf_list_is_whole(&members[1].link));
}
END_TEST

static const struct {
    int to;                 /* members of each before */
    int from;
    const char *joined;
} join_rows[] = {
    {0, 0, ""}, {2, 0, "01"}, {0, 2, "01"}, {1, 1, "01"}, {2, 2, "0123"},
};

START_TEST(joined_list_is_one_after_the_other)
{
    fill(&head, 0, join_rows[_i].to);
    fill(&other, join_rows[_i].to, join_rows[_i].from);
    hf_list_join(&head, &other);
    ck_assert_str_eq(ids(&head), join_rows[_i].joined);
    ck_assert_str_eq(ids(&other), "");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("resp base");
    TCase *status = tcase_create("status"), *list = tcase_create("list");

    tcase_add_loop_test(status, status_has_name_and_text, 0,
                        COUNT(status_rows));
    tcase_add_loop_test(status, unknown_status_also_has_a_name_and_a_text, 0,
                        COUNT(unknown_rows));
    tcase_add_test(list, list_keeps_the_order_of_pushes);
    tcase_add_loop_test(list, member_leaves_the_others_in_their_order, 0,
                        COUNT(without_rows));
    tcase_add_test(list, list_whose_member_was_overwritten_is_not_whole);
    tcase_add_loop_test(list, joined_list_is_one_after_the_other, 0,
                        COUNT(join_rows));
    suite_add_tcase(s, status);
    suite_add_tcase(s, list);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
