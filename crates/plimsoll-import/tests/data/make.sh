#!/bin/sh
# Makes the captures of this folder, each a few packets of one HTTP exchange, in a network namespace of their own:
#   unshare -n sh make.sh
# Needs root, tcpdump, editcap (wireshark-common), curl and python3. The tests know how many packets each holds.
set -eu
cd "$(dirname "$0")"
ip link set lo up
ip link add left type veth peer name right
ip netns add plimsoll-data
object=$(mktemp -d)
head -c 5000 /dev/zero > "$object/object"
rm -f ./*.pcap ./*.pcapng ./*.txt
trap 'kill $servers 2>/dev/null || true; ip netns del plimsoll-data; rm -r "$object"' EXIT
servers=
ip link set right netns plimsoll-data
inside="ip netns exec plimsoll-data"
for side in left:1 right:2; do
    name=${side%:*} number=${side#*:}
    prefix=$([ "$name" = right ] && echo "$inside" || echo env)
    $prefix ip link set "$name" up
    $prefix ip address add "10.9.0.$number/24" dev "$name"
    $prefix ip address add "fd09::$number/64" dev "$name" nodad
done
python3 -m http.server -b :: -d "$object" 8000 2>/dev/null >&2 &
servers="$servers $!"
$inside python3 -m http.server -b :: -d "$object" 8000 2>/dev/null >&2 &
servers="$servers $!"
sleep 1

capture() { # FILE URL TCPDUMP-OPTIONS
    file=$1 url=$2
    shift 2
    tcpdump -Z root -q "$@" --immediate-mode -s 100 -w "$file" tcp port 8000 2>/dev/null &
    dump=$!
    sleep 0.7
    curl -s -o /dev/null "$url"
    sleep 0.3
    kill -INT $dump
    wait $dump || true
}

capture loopback.pcap http://127.0.0.1:8000/object -i lo
capture nanoseconds.pcap http://10.9.0.2:8000/object -i left --time-stamp-precision=nano
capture ipv6.pcap "http://[fd09::2]:8000/object" -i left
capture cooked.pcap http://10.9.0.2:8000/object -i any -y LINUX_SLL
capture cooked2.pcap http://10.9.0.2:8000/object -i any -y LINUX_SLL2
editcap -F pcapng loopback.pcap micro.pcapng
editcap -F pcapng nanoseconds.pcap nano.pcapng
mergecap -F pcapng -w interfaces.pcapng nanoseconds.pcap cooked.pcap
python3 tag.py nanoseconds.pcap vlan.pcap
python3 swap.py loopback.pcap loopback-be.pcap
python3 swap.py nano.pcapng nano-be.pcapng
for options in "" -t -tt -ttt -tttt -ttttt -v -vv -S -e -q; do
    tcpdump -nr loopback.pcap $options > "text$options.txt" 2>/dev/null
done
tcpdump -r loopback.pcap > text-names.txt 2>/dev/null
tcpdump -nr ipv6.pcap > text-ipv6.txt 2>/dev/null
tcpdump -nr cooked2.pcap -x > text-cooked.txt 2>/dev/null
