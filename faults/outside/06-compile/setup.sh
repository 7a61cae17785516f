mkdir -p inc/real
i=0; while [ $i -lt 1200 ]; do mkdir -p inc/third_party_$i; i=$((i+1)); done
: > main.c
i=0; while [ $i -lt 250 ]; do
  printf '#ifndef H%d\n#define H%d\nstatic inline int f%d(int x) { return x + %d; }\n#endif\n' $i $i $i $i > inc/real/part_$i.h
  echo "#include <part_$i.h>" >> main.c; i=$((i+1)); done
echo '#include <stdio.h>' >> main.c
echo 'int main(void) { int x = 0;' >> main.c
for k in 1 2 3 4 5 6; do i=0; while [ $i -lt 250 ]; do echo "x = f$i(x) ^ (x << 3) ^ (x >> $k);"; i=$((i+1)); done; done >> main.c
printf '%s\n' 'printf("%d\n", x); return 0; }' >> main.c
l=; i=0; while [ $i -lt 1200 ]; do l="$l:inc/third_party_$i"; i=$((i+1)); done
echo "export CPATH=inc/real$l" > first.env
echo "export CPATH=${l#:}:inc/real" > last.env
