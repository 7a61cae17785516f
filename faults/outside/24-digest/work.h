__attribute__((noinline, aligned(64))) static int cmp(const void *a, const void *b) { unsigned x = *(const unsigned *)a, y = *(const unsigned *)b; return x < y ? -1 : x > y; }
__attribute__((noinline, aligned(64))) static unsigned long work(void)
{
    static unsigned v[400000];
    unsigned long h = 1469598103934665603UL;
    for (int r = 0; r < 14; r++) {
        unsigned x = 12345 + r;
        for (int i = 0; i < 400000; i++) { x = x * 1664525 + 1013904223; v[i] = x; }
        qsort(v, 400000, sizeof *v, cmp);
        for (int i = 0; i < 400000; i++) { h ^= v[i]; h *= 1099511628211UL; }
    }
    return h;
}
