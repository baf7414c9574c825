"""Where runs go: the run launcher with its device policy, and the queue that limits runs by device.

Both are named in ``dagster.yaml``::

    run_launcher:    {module: tensor_assets.launchers, class: H100RunLauncher, config: {policy: {accelerators: [H100]}}}
    run_coordinator: {module: tensor_assets.launchers, class: DeviceQueue}
"""

from tensor_assets.launchers.host import HostRunLauncher
from tensor_assets.launchers.launcher import H100RunLauncher
from tensor_assets.launchers.policy import DevicePolicy
from tensor_assets.launchers.queue import DeviceQueue

__all__ = ["DevicePolicy", "DeviceQueue", "H100RunLauncher", "HostRunLauncher"]
