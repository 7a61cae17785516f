//! Makes and removes hosts: namespaces, links, addresses, and the processes of agents.
