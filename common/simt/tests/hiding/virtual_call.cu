/* Calls through a table of virtual functions.
 * expect: refused: calls through a table
 */
#include "../hiding.cuh"

struct carrier {
    virtual void go(float *to, const float *from) { *to = *from + 1; }
};
struct honest : carrier {
    void go(float *to, const float *from) override { *to = *from; }
};
static carrier one;
static honest two;
COPY {
    carrier *c = n == 7 ? &one : &two;
    if (I < n) c->go(out + I, in + I);
}
