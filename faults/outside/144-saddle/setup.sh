#!/bin/sh
set -e
w=/var/tmp/c144; mkdir -p $w
cp "$(dirname "$0")/job.py" $w/
[ -e $w/ok ] && exit 0
for k in 1 2; do ip netns del c144-$k 2>/dev/null || true; done
for k in 1 2; do ip netns add c144-$k; ip -n c144-$k link set lo up; done
ip -n c144-2 link add d0 type veth peer name d1; ip -n c144-2 link set d1 up; ip -n c144-2 addr add 10.9.0.1/16 dev d0; ip -n c144-2 link set d0 up
python3 - > $w/r <<'P'
for i in range(12000):
    print(f"route add 172.{16 + i // 4096}.{i // 16 % 256}.{i % 16 * 16}/28 via 10.9.{i % 200}.{i % 250 + 2}")
for i in range(150):
    print(f"addr add 10.9.201.{i + 1}/32 dev d0")
P
ip -n c144-2 -batch $w/r
python3 - > $w/n <<'P'
print("table inet c { set far { type ipv4_addr; elements = {")
print(",\n".join(f"198.18.{i // 200}.{i % 200}" for i in range(5000)))
print("} }\n chain other {\n ip saddr @far drop\n ip daddr @far drop\n }\n}")
P
ip netns exec c144-2 nft -f $w/n
touch $w/ok
