#!/bin/sh
# Runs fio as the storage load of modes.toml or schedulers.toml, on files or a loop device of its own, and prints what Plimsoll reads of its output.
# fio.sh RW BLOCK THREADS ENGINE DEPTH DIRECT [SCHEDULER]; DIR is a folder for the output.
set -e
rw=$1 block=$2 threads=$3 engine=$4 depth=$5 direct=$6 scheduler=$7
place=/var/tmp/plimsoll-rows
each=$((128 / threads))
mkdir -p $place
trap 'test -z "$device" || losetup -d $device; rm -rf $place' EXIT
# Blocks of 1 MB and random bytes, as Plimsoll writes them. Sequential writers begin with empty files.
if [ -n "$scheduler" ]; then
    dd if=/dev/urandom of=$place/disk bs=1M count=256 iflag=fullblock conv=fsync status=none
    device=$(losetup --find --show --direct-io=on $place/disk)
    echo $scheduler > /sys/block/${device#/dev/}/queue/scheduler
    files="--filename=$device --offset_increment=${each}M"
else
    files="--directory=$place --filename_format=part-\$jobnum --fallocate=none"
    if [ $rw != write ]; then
        for part in $(seq 0 $((threads - 1))); do
            dd if=/dev/urandom of=$place/part-$part bs=1M count=$each iflag=fullblock conv=fsync status=none
        done
        cat $place/part-* > /dev/null
    fi
fi
batch=
test $engine != io_uring || batch="--fixedbufs=1 --registerfiles=1 --iodepth_batch_submit=$depth --iodepth_batch_complete_max=$depth"
fio --name=rows --rw=$rw --bs=$block --size=${each}M --numjobs=$threads --thread --group_reporting --ioengine=$engine --iodepth=$depth $batch \
    --direct=$direct --mem=mmap --invalidate=0 --norandommap=1 --randrepeat=0 --time_based --runtime=1 $files > "$DIR/fio"
plimsoll import "$DIR/fio"
