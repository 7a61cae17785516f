//! The network of a guest, made by its init: the same addresses and routes that a namespace host gets from the controller.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use rtnetlink::{Handle, LinkMessageBuilder, LinkUnspec, RouteMessageBuilder};

use super::{Inside, Interface};
use crate::network::{LOOPBACK, to_io};
use crate::topology::PREFIX;

/// How long the kernel may take to find a card once its module is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes it, in the calling process's network namespace.
pub(super) fn make(inside: &Inside) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (connection, netlink, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        up(&netlink, LinkUnspec::new_with_index(LOOPBACK)).await?;
        for address in &inside.addresses {
            netlink.address().add(LOOPBACK, (*address).into(), 32).execute().await.map_err(to_io)?;
        }
        for interface in &inside.interfaces {
            make_interface(&netlink, interface).await?;
        }
        for (to, prefix, via) in &inside.routes {
            let route =
                RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(*to, *prefix).gateway(*via).build();
            netlink.route().add(route).execute().await.map_err(to_io)?;
        }
        Ok(())
    })
}

async fn make_interface(netlink: &Handle, interface: &Interface) -> io::Result<()> {
    let index = find(interface)?;
    let mut named = LinkUnspec::new_with_index(index).name(interface.name.clone());
    if let Some(mtu) = interface.mtu {
        named = named.mtu(mtu);
    }
    netlink.link().set(named.build()).execute().await.map_err(to_io)?;
    up(netlink, LinkUnspec::new_with_index(index)).await?;
    netlink.address().add(index, interface.address.into(), PREFIX).execute().await.map_err(to_io)
}

async fn up(netlink: &Handle, link: LinkMessageBuilder<LinkUnspec>) -> io::Result<()> {
    netlink.link().set(link.up().build()).execute().await.map_err(to_io)
}

/// The index of the card with this hardware address.
fn find(interface: &Interface) -> io::Result<u32> {
    let wanted = interface.hardware_text();
    let give_up = Instant::now() + PATIENCE;
    loop {
        for entry in fs::read_dir("/sys/class/net")? {
            let folder = entry?.path();
            if fs::read_to_string(folder.join("address")).is_ok_and(|own| own.trim_end() == wanted) {
                let index = fs::read_to_string(folder.join("ifindex"))?;
                return index.trim_end().parse().map_err(io::Error::other);
            }
        }
        if Instant::now() > give_up {
            let what = format!(
                "there is no network card {wanted} for {}: the kernel has to have virtio_net, built in or as a module beside it",
                interface.name
            );
            return Err(io::Error::other(what));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
