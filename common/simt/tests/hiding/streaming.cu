/* Loads and stores around the caches.
 * expect: counted
 */
#include "../hiding.cuh"

COPY {
    if (I < n) __builtin_nontemporal_store(__builtin_nontemporal_load(in + I), out + I);
}
