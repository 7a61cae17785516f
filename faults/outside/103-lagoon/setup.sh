#!/bin/bash
set -e
D=/var/tmp/c103; mkdir -p $D; cd $D; : > pids
cat > main.go <<'X'
package main

import (
	"fmt"
	"os"
	"strconv"
)

type item struct {
	key  string
	next *item
	tags []string
}

var cache = map[int]*item{}

func handle(n int) int {
	buf := make([]string, 0, 16)
	for i := 0; i < 16; i++ {
		buf = append(buf, "tag-"+strconv.Itoa(n*31+i))
	}
	it := cache[n%len(cache)]
	s := 0
	for j := 0; it != nil && j < 12; j++ {
		s += len(it.key) + len(it.tags)
		it = it.next
	}
	for _, b := range buf {
		for k := 0; k < len(b); k++ {
			s = s*31 + int(b[k])
		}
	}
	return s
}

func main() {
	req, _ := strconv.Atoi(os.Args[1])
	var last *item
	for i := 0; i < 150000; i++ {
		it := &item{key: "object-" + strconv.Itoa(i), next: last, tags: []string{strconv.Itoa(i), "x" + strconv.Itoa(i)}}
		cache[i] = it
		last = it
	}
	t := 0
	for i := 0; i < req; i++ {
		t += handle(i)
	}
	fmt.Println(t)
}
X
PATH=/usr/lib/go-1.19/bin:$PATH
GO=/usr/bin/go; [ -x $GO ] || GO=go
GOTOOLCHAIN=local GOFLAGS=-mod=mod GO111MODULE=off GOCACHE=$D/cache GOPATH=$D/gp HOME=$D $GO build -o worker main.go
rm -rf cache gp
printf 'export GOGC=100\nexport WORKER_ZONE=a\n' > zone-a.env
printf 'export GOGC=100\nexport WORKER_ZONE=b\nexport GOMEMLIMIT=30MiB\n' > zone-b.env
