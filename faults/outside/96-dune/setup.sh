#!/bin/bash
set -e
D=/var/tmp/c96; mkdir -p $D; cd $D; : > pids
cat > shipper.c <<'X'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
static unsigned mix(const char *p, int n){ unsigned h=2166136261u; while(n--) h=(h^(unsigned char)*p++)*16777619u; return h; }
int main(int c, char **v)
{
	int batches = atoi(v[1]), per = 2;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	snprintf(a.sun_path + 1, 90, "shipper-%d", getpid());
	socklen_t al = sizeof(sa_family_t) + 1 + strlen(a.sun_path + 1);
	int in = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(in, (void *)&a, al)) { perror("bind"); return 1; }
	pid_t k = fork();
	if (!k) {
		char b[4096]; unsigned h = 0; 
		for (int i = 0; i < batches; i++) { int n = recv(in, b, sizeof b, 0); if (n <= 0) return 1; h ^= mix(b, n); }
		return h == 1;
	}
	int out = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (connect(out, (void *)&a, al)) { perror("connect"); return 1; }
	time_t t = 1790000000; char stamp[64];
	for (int i = 0; i < batches; i++) {
		char b[4096]; int n = 0;
		for (int j = 0; j < per; j++) {
			if (!(i & 1) && !j) { t += 7; strftime(stamp, 64, "%Y-%m-%dT%H:%M:%S%z ", localtime(&t)); }
			n += sprintf(b + n, "%s", stamp);
			n += sprintf(b + n, "host-%d app[%d]: request %d done in %d us\n", j, i & 1023, i * per + j, (i * 77) % 1000);
		}
		if (send(out, b, n, 0) != n) { perror("send"); return 1; }
	}
	int st; waitpid(k, &st, 0);
	return st != 0;
}
X
gcc -O2 -o shipper shipper.c
ip netns add c96e; ip netns add c96w
ip netns exec c96e sysctl -qw net.unix.max_dgram_qlen=512
ip netns exec c96w sysctl -qw net.unix.max_dgram_qlen=1
printf 'export LANG=C\nexport TZ=Etc/UTC\nexport SHIPPER_SITE=east\n' > east.env
printf 'export LANG=C\nexport SHIPPER_SITE=west\n' > west.env
