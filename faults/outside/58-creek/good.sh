#!/bin/sh
cd "$(dirname "$0")" || exit 3
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 exec ./walk
