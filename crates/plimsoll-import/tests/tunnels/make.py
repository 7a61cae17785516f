"""Makes the captures of this folder with Scapy (pip install scapy zstandard): one short TCP exchange in every encapsulation."""

import gzip
import os
import struct

import zstandard
from scapy.all import (
    ARP, GRE, ICMP, IP, IPv6, LLC, SNAP, TCP, UDP, Dot11, Dot11QoS, Dot1Q, Ether, ICMPerror, IPerror, PPP, PPPoE, RadioTap, Raw, TCPerror,
    ICMPv6PacketTooBig, IPerror6, wrpcap)
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.layers.vxlan import VXLAN

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT, SERVER, DATA = ("10.0.0.1", 40000), ("10.0.0.2", 80), b"x" * 100


def segments():
    """SYN, SYN-ACK, a request, its answer."""
    def tcp(source, destination, **fields):
        return (source[0], destination[0]), TCP(sport=source[1], dport=destination[1], **fields)

    yield *tcp(CLIENT, SERVER, seq=1000, flags="S", options=[("MSS", 1460), ("WScale", 7)]), b""
    yield *tcp(SERVER, CLIENT, seq=2000, ack=1001, flags="SA", options=[("MSS", 1460), ("WScale", 7)]), b""
    yield *tcp(CLIENT, SERVER, seq=1001, ack=2001, flags="PA"), DATA
    yield *tcp(SERVER, CLIENT, seq=2001, ack=1101, flags="PA"), DATA


def exchange():
    for number, ((source, destination), tcp, data) in enumerate(segments()):
        yield IP(src=source, dst=destination, id=100 + number) / tcp / data


def ether(payload, **fields):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", **fields) / payload


def outer(payload, proto=None):
    ip = IP(src="192.0.2.1", dst="192.0.2.2")
    if proto is not None:
        ip.proto = proto
    return ether(ip / payload)


def udp(port, payload):
    return outer(UDP(sport=50000, dport=port) / payload)


def wifi(inner, **fields):
    return Dot11(type=2, addr1="02:00:00:00:00:01", addr2="02:00:00:00:00:02", addr3="02:00:00:00:00:03", **fields) / inner


def snap(inner):
    return LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0, code=0x0800) / inner


def nflog(inner, order="<"):
    payload = bytes(inner)
    prefix = struct.pack(order + "HH", 8, 1) + bytes.fromhex("08000100") + struct.pack(order + "HH", 5, 10) + b"\0\0\0\0"
    return Raw(b"\x02\x00\x00\x00" + prefix + struct.pack(order + "HH", 4 + len(payload), 9) + payload)


ERSPAN_3_MORE = bytes(8)
KINDS = {
    "plain": (1, lambda p: ether(p)),
    "qinq": (1, lambda p: ether(Dot1Q(vlan=5) / Dot1Q(vlan=6) / p)),
    "pppoe": (1, lambda p: ether(PPPoE(sessionid=7) / PPP(proto=0x21) / p, type=0x8864)),
    "mpls": (1, lambda p: ether(MPLS(label=16, s=0, ttl=64) / MPLS(label=17, s=1, ttl=64) / p, type=0x8847)),
    "pseudowire": (1, lambda p: ether(MPLS(label=16, s=1, ttl=64) / Raw(b"\0\0\0\1" + bytes(ether(p))), type=0x8847)),
    "snap": (1, lambda p: Ether(bytes(ether(snap(p), type=len(bytes(snap(p))))))),
    "gre": (1, lambda p: outer(GRE(proto=0x0800) / p)),
    "gre-options": (1, lambda p: outer(GRE(proto=0x0800, chksum_present=1, key_present=1, key=9, seqnum_present=1) / p)),
    "gre-ethernet": (1, lambda p: outer(GRE(proto=0x6558, key_present=1, key=9) / ether(p))),
    "erspan-2": (1, lambda p: outer(GRE(proto=0x88BE, seqnum_present=1) / ERSPAN_II(session_id=3) / ether(p))),
    "erspan-3": (1, lambda p: outer(GRE(proto=0x22EB, seqnum_present=1) / ERSPAN_III(session_id=3, o=0) / ether(p))),
    "vxlan": (1, lambda p: udp(4789, VXLAN(vni=5, flags=8) / ether(p))),
    "geneve": (1, lambda p: udp(6081, GENEVE(vni=5, proto=0x6558) / ether(p))),
    "gtp": (1, lambda p: udp(2152, GTP_U_Header(teid=1, gtp_type=255) / p)),
    "gtp-extension": (1, lambda p: udp(2152, GTP_U_Header(teid=1, gtp_type=255, E=1, next_ex=0x85) / GTPPDUSessionContainer(type=1, QFI=9) / p)),
    "ipip": (1, lambda p: outer(p)),
    "4in6": (1, lambda p: ether(IPv6(src="2001:db8::1", dst="2001:db8::2") / p)),
    "mpls-in-ip": (1, lambda p: outer(MPLS(label=16, s=1, ttl=64) / p, proto=137)),
    "ppp": (9, lambda p: Raw(b"\xff\x03\x00\x21" + bytes(p))),
    "ppp-short": (9, lambda p: Raw(b"\x21" + bytes(p))),
    "hdlc": (104, lambda p: Raw(b"\x0f\x00\x08\x00" + bytes(p))),
    "wifi": (105, lambda p: wifi(snap(p), FCfield=1)),
    "wifi-qos": (105, lambda p: Dot11(type=2, subtype=8, FCfield=2, addr1="02:00:00:00:00:01", addr2="02:00:00:00:00:02", addr3="02:00:00:00:00:03") / Dot11QoS(TID=1) / snap(p)),
    "radiotap": (127, lambda p: RadioTap(present="Rate", Rate=12) / wifi(snap(p))),
    "nflog": (239, lambda p: nflog(p)),
    "nflog-be": (239, lambda p: nflog(p, ">")),
}


def write(name, link, packets):
    for number, packet in enumerate(packets):
        packet.time = 1_000_000_000 + number / 1000
    wrpcap(os.path.join(HERE, name), packets, linktype=link)


def main():
    for name, (link, wrap) in KINDS.items():
        write(f"{name}.pcap", link, [wrap(packet) for packet in exchange()])
    plain = [ether(packet) for packet in exchange()]
    big = IP(src=CLIENT[0], dst=SERVER[0], flags="DF") / TCP(sport=CLIENT[1], dport=SERVER[1], seq=1001) / Raw(b"y" * 1448)
    needed = ether(IP(src="192.0.2.9", dst=CLIENT[0]) / ICMP(type=3, code=4, nexthopmtu=1400) / Raw(bytes(big)[:28]))
    six = IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=1, dport=2) / Raw(b"y" * 1448)
    six = ether(IPv6(src="2001:db8::9", dst="2001:db8::1") / ICMPv6PacketTooBig(mtu=1280) / Raw(bytes(six)[:48]))
    write("too-big.pcap", 1, [*plain, needed, six])
    hidden = [
        outer(Raw(bytes(60)), proto=50), outer(Raw(bytes(60)), proto=50), ether(Raw(bytes(60)), type=0x88E5), ether(ARP()),
        outer(ICMP()), outer(GRE(proto=0x1234) / Raw(bytes(20)))]
    write("hidden.pcap", 1, [*plain, *hidden])
    write("protected.pcap", 105, [wifi(Raw(bytes(60)), FCfield=0x41)])
    with open(os.path.join(HERE, "plain.pcap"), "rb") as plain_file:
        whole = plain_file.read()
    with open(os.path.join(HERE, "plain.pcap.gz"), "wb") as out:
        for part in (whole[:100], whole[100:]):
            out.write(gzip.compress(part, mtime=0))
    with open(os.path.join(HERE, "plain.pcap.zst"), "wb") as out:
        for part in (whole[:100], whole[100:]):
            out.write(zstandard.ZstdCompressor().compress(part))
            out.write(bytes.fromhex("50 2a 4d 18 03 00 00 00") + b"abc")


if __name__ == "__main__":
    main()
