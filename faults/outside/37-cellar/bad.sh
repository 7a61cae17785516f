#!/bin/sh
cd "$(dirname "$0")" || exit 3
limit=90M
g=/sys/fs/cgroup/memory/cellar-$$
mkdir $g || exit 3
trap 'rmdir $g' EXIT
echo $limit > $g/memory.limit_in_bytes
/usr/bin/python3 -c "import os; f=os.open('parts.db',0); os.fsync(f); os.posix_fadvise(f,0,0,os.POSIX_FADV_DONTNEED)"
cat > /tmp/cellar.$$ <<'Q'
select count(*), sum(length(d)) from parts;
with recursive n(i,x) as (select 1, 12345 union all select i+1, (x*1103515245+12345)%2147483648 from n where i<90000) select sum(length(d)) from n join parts on parts.id = 1+(x/16)%300000;
Q
sh -c "echo \$\$ > $g/cgroup.procs; exec sqlite3 -readonly parts.db < /tmp/cellar.$$"
rm -f /tmp/cellar.$$
