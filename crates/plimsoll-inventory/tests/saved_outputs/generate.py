#!/usr/bin/env python3
"""Makes what the real programs read instead of hardware, so that their output is theirs: `python3 generate.py`, then
`hdparm --Istdin < identify.hex`, `dmidecode --from-dump dmi.bin`, `lspci -F lspci.hex -vv`, `decode-dimms -x spd.hex`.
dmesg.txt is what a guest of QEMU printed; ethtool.txt that of a virtio card; smartctl.json has the fields that smartmontools 7 documents."""
import struct
# hdparm --Istdin: IDENTIFY DEVICE, 256 words
w=[0]*256
def text(at,n,s):
    s=s.ljust(n*2)
    for i in range(n): w[at+i]=(ord(s[2*i])<<8)|ord(s[2*i+1])
w[0]=0x0040; w[1]=0x3fff; w[3]=0x10; w[6]=0x3f
text(10,10,"S1234"); text(23,4,"EXM02B6Q"); text(27,20,"Samsung SSD 850 PRO 256GB")
w[47]=0x8001; w[49]=0x2f00; w[53]=0x0007
w[60]=0xffff; w[61]=0x0fff
w[63]=0x0007; w[64]=3; w[65]=w[66]=w[67]=w[68]=120
w[75]=31; w[76]=0x000e|0x100; w[80]=0x03fc
w[82]=0x746b; w[83]=0x7d01; w[84]=0x4163; w[85]=0x7469; w[86]=0xbc01; w[87]=0x4163
w[88]=0x407f
s=500118192
for i in range(4): w[100+i]=(s>>(16*i))&0xffff
w[106]=0x4000; w[217]=1
with open("identify.hex","w") as f:
    for i in range(0,256,8): f.write(" ".join("%04x"%x for x in w[i:i+8])+"\n")
# dmidecode --from-dump
def st(t,h,fmt,strs): 
    body=fmt; b=bytes([t,len(body)+4])+struct.pack("<H",h)+body
    return b+(b"".join(x.encode()+b"\0" for x in strs) or b"\0")+b"\0"
T=b""
T+=st(0,0,bytes([1,2,0,0xe0,3,0xff])+bytes(8)+bytes(2)+bytes([2,5,0xff,0xff]),["Dell Inc.","2.5.2","01/28/2015"])
T+=st(1,1,bytes([1,2,0,0])+bytes(16)+bytes([6,0,0]),["Dell Inc.","PowerEdge R720"])
T+=st(2,2,bytes([1,2,3,0]),["Dell Inc.","0X3D66","A01"])
def cpu(h,sock):
    b=bytes([1,3,0xb3,2])+bytes(8)+bytes([3])+bytes([0x8b])+struct.pack("<HHH",100,3500,2600)+bytes([0x41,0x15])+struct.pack("<HHH",0xffff,0xffff,0xffff)+bytes([0,0,0,8,8,16])+struct.pack("<H",0xfc)+struct.pack("<H",0xb3)
    return st(4,h,b,[sock,"Intel","Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz"])
T+=cpu(0x400,"CPU1")+cpu(0x401,"CPU2")
def dimm(h,loc,mb,speed,conf):
    b=struct.pack("<HHHHH",0x1000,0xfffe,72,64,mb)+bytes([9,1,1,0,0x18])+struct.pack("<H",0x80)+struct.pack("<H",speed)+bytes([2,0,0,3,2])+struct.pack("<I",0)+struct.pack("<H",conf)
    return st(17,h,b,[loc,"Samsung","M393B1K70DH0-YH9"])
T+=dimm(0x1100,"DIMM_A1",8192,1333,1333)+dimm(0x1101,"DIMM_A2",8192,1333,1066)+dimm(0x1102,"DIMM_A3",0,0,0)
T+=st(127,0x7f00,b"",[])
n=T.count(b"") and 9
hdr=bytearray(b"_SM_"+bytes([0,0x1f,2,7])+struct.pack("<H",200)+bytes([0])+bytes(5)+b"_DMI_"+bytes([0])+struct.pack("<HIHB",len(T),0x20,9,0x27))
hdr[0x15]=(-sum(hdr[0x10:0x1f]))&255
hdr[4]=(-sum(hdr[:0x1f]))&255
open("dmi.bin","wb").write(bytes(hdr).ljust(0x20,b"\0")+T)
# lspci -F: a card with a PCI Express capability, link at half width
c=bytearray(256)
struct.pack_into("<HHHH",c,0,0x8086,0x1521,0x0406,0x0010); c[8]=1; c[0xa]=0; c[0xb]=2
struct.pack_into("<HH",c,0x2c,0x8086,0x0001); c[0x34]=0xa0
c[0xa0]=0x10; c[0xa1]=0; struct.pack_into("<H",c,0xa2,0x0002)
struct.pack_into("<I",c,0xa0+0xc,2|(4<<4)|(3<<10)); struct.pack_into("<H",c,0xa0+0x12,1|(2<<4)); struct.pack_into("<H",c,0xa0+0x2c,0x6)
with open("lspci.hex","w") as f:
    f.write("03:00.0 Ethernet controller: Intel Corporation I350\n")
    for i in range(0,256,16): f.write("%02x: "%i+" ".join("%02x"%x for x in c[i:i+16])+"\n")
    f.write("\n")
# decode-dimms -x: SPD of a DDR3 module (JEDEC 21-C, annex K), 2 GB per rank, two ranks, 1333
d=bytearray(256)
d[0]=0x92; d[1]=0x13; d[2]=0x0b; d[3]=0x01; d[4]=0x03; d[5]=0x19; d[7]=0x09; d[8]=0x0b; d[9]=0x11
d[10]=1; d[11]=8; d[12]=12; d[14]=0x7e; d[16]=0x69; d[17]=0x78; d[18]=0x69; d[19]=0x30; d[20]=0x69; d[21]=0x11; d[22]=0x20; d[23]=0x89
d[24]=0; d[25]=5; d[26]=0x3c; d[27]=0x3c; d[28]=0; d[29]=0xf0
d[117]=0x80; d[118]=0xce
for i,ch in enumerate("M393B1K70DH0-YH9".ljust(18)): d[128+i]=ord(ch)
def crc16(b):
    c=0
    for x in b:
        c^=x<<8
        for _ in range(8): c=((c<<1)^0x1021)&0xffff if c&0x8000 else (c<<1)&0xffff
    return c
n=126 if not d[0]&0x80 else 117
c=crc16(d[:n]); d[126]=c&255; d[127]=c>>8
with open("spd.hex","w") as f:
    for i in range(0,256,16): f.write("%02x: "%i+" ".join("%02x"%x for x in d[i:i+16])+"\n")
