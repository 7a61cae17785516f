#!/bin/bash
set -e
D=/var/tmp/c102; mkdir -p $D; cd $D; : > pids
cat > launch.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
int main(int c, char **v)
{
	char k[64], w[64]; FILE *f = fopen(v[1], "r");
	if (!f) { perror(v[1]); return 1; }
	while (fscanf(f, "%63[^=]=%63s\n", k, w) == 2) {
		if (!strcmp(k, "nofile")) { struct rlimit r = { atol(w), atol(w) }; setrlimit(RLIMIT_NOFILE, &r); }
		else if (!strcmp(k, "umask")) umask(strtol(w, 0, 8));
		else if (!strcmp(k, "slack")) prctl(PR_SET_TIMERSLACK, strtoul(w, 0, 10), 0, 0, 0);
		else setenv(k, w, 1);
	}
	fclose(f);
	execv(v[2], v + 2);
	perror(v[2]); return 1;
}
X
sed -i '1i #include <sys/stat.h>' launch.c
cat > pacer.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <netinet/in.h>
int main(int c, char **v)
{
	int n = atoi(v[1]), s = socket(AF_INET, SOCK_DGRAM, 0), r = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t l = sizeof a;
	bind(r, (void *)&a, l); getsockname(r, (void *)&a, &l); connect(s, (void *)&a, l);
	char b[1200], d[2000]; unsigned sum = 0;
	struct timespec t = { 0, 300000 };
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < 1200; j++) b[j] = i * j >> 3;
		send(s, b, sizeof b, 0);
		int k = recv(r, d, sizeof d, 0);
		for (int j = 0; j < k; j++) sum = sum * 31 + d[j];
		nanosleep(&t, 0);
	}
	printf("%u\n", sum);
	return 0;
}
X
gcc -O2 -o launch launch.c; gcc -O1 -o pacer pacer.c
printf 'nofile=4096\numask=022\nPACER_ROLE=primary\n' > primary.profile
printf 'nofile=8192\numask=022\nslack=1000000\nPACER_ROLE=standby\n' > standby.profile
