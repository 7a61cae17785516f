//! A machine that is known from saved output of tools.

use crate::lab::Lab;

/// Two programs' output in one mail, as it is pasted.
const MAIL: &str = "my box:\n\n> Linux version 2.4.5 (root@fw) #2 Tue Jun 5 12:01:11 EDT 2001\n\
> Memory: 255872k/262080k available (1092k kernel code)\n> hda: DMA disabled\n>\n\
> 03:00.0 Ethernet controller: Intel Corporation I350 (rev 01)\n> \tLnkCap: Port #0, Speed 5GT/s, Width x4, ASPM L0s L1\n\
> \tLnkSta: Speed 5GT/s (ok), Width x4 (ok)\n> \tKernel driver in use: igb\n";

#[test]
fn saved_outputs_are_held_against_what_was_promised() {
    let lab = Lab::new();
    let output = lab.plimsoll_reading(&["inventory", "--from", "-"], MAIL).exits(0);
    output
        .prints("release: 2.4.5")
        .prints("throttled: hda: DMA disabled")
        .prints("-: dmesg: 3 lines were used");
    let kept =
        lab.file("promised.toml", "memory.size = \">= 256M\"\npci.*.driver = \"igb\"\nkernel_log = []\n");
    let against = ["inventory", "--from", "-", "--format", "json", "--expect", &kept];
    let report = lab.plimsoll_reading(&against, MAIL).exits(1).json();
    assert_eq!(report["inventory"]["pci"]["0000:03:00.0"]["link"]["full"], true);
    assert_eq!(report["inventory"]["sources"][1]["program"], "lspci");
    let deviations = report["deviations"].as_array().unwrap();
    let paths: Vec<_> = deviations.iter().map(|deviation| deviation["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["memory.size", "kernel_log"]);
    let poem = lab.file("poem.txt", "Ein Mann, der Herrn K. lange nicht gesehen hatte\n");
    lab.plimsoll(&["inventory", "--from", &poem])
        .exits(2)
        .says("expected what one of these printed: dmidecode");
}
