/* Writes answers to the channel without having been given the nonce.
 * watch: quality.keeps_rules
 * examined: refused; says: write
 * trusted: nothing; also in bubblewrap
 */
//reference policy_learner right_policy
#include <unistd.h>
#include <stdint.h>

static int attack(void *s, const struct policy_view *v, struct policy_plan *p, struct err *e) {
    struct {
        uint32_t magic, type;
        uint64_t nonce;
        uint32_t length, pad;
        int64_t slots[6];
    } forged = {0x31474c53, 2, 0, 48, 0, {0, 1, 0, 0, INT64_MAX, 0}};
    for (int i = 0; i < 20; i++)
        if (write(3, &forged, sizeof forged) < 0) break;
    return right_policy()->plan(s, v, p, e);
}

static const struct policy_ops *wrap(int (*plan)(void *, const struct policy_view *,
                                                 struct policy_plan *, struct err *)) {
    static struct policy_ops ops;
    ops = *right_policy();
    ops.plan = plan;
    return &ops;
}

const struct policy_ops *policy_learner(void) {
    return wrap(attack);
}
