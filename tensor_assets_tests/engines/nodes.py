"""Run in the engines' environment: a Ray cluster of two nodes, until standard input ends.

``ray start`` would also serve Ray's own client protocol, whose server gives up after 30 s on a busy machine and takes
the node with it; nothing here speaks that protocol.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main(head: str, other: str, resource: str) -> None:
    common = {"num_cpus": 2, "num_gpus": 0, "resources": {resource: 1}, "object_store_memory": 80_000_000}
    dashboard = {"include_dashboard": True, "dashboard_host": head, "dashboard_port": 8265}
    cluster = Cluster(initialize_head=True, head_node_args={**common, **dashboard, "node_ip_address": head})
    cluster.add_node(**common, node_ip_address=other)
    print("up", flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
