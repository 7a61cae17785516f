#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* counts how often each order number occurs */
struct e { struct e *next; unsigned n; char key[20]; };
#define NB (1u<<17)
static struct e *tab[NB];
static unsigned bucket(const char *s){
    unsigned h = 2166136261u; int i;
    for (i = 0; s[i] && i < KEYPART; i++) { h ^= (unsigned char)s[i]; h *= 16777619u; }
    return (h ^ h >> 15) & (NB-1);
}
int main(int c, char **v){
    char line[64]; long total = 0, distinct = 0; int rounds = atoi(v[2]);
    while (rounds--) {
        FILE *f = fopen(v[1], "r"); if (!f) return 1;
        while (fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            unsigned b = bucket(line); struct e *p;
            for (p = tab[b]; p; p = p->next) if (!strcmp(p->key, line)) break;
            if (!p) { p = malloc(sizeof *p); strncpy(p->key, line, 19); p->key[19]=0; p->n = 0; p->next = tab[b]; tab[b] = p; distinct++; }
            p->n++; total++;
        }
        fclose(f);
    }
    printf("%ld lines, %ld distinct\n", total, distinct);
    return 0;
}
