"""A run launcher that starts nothing and says what it was told to say."""

from dagster import Field
from dagster._core.launcher import CheckRunHealthResult, RunLauncher, WorkerStatus
from dagster._serdes import ConfigurableClass

launched: list[str] = []
health = WorkerStatus.RUNNING
terminates = False


def reset():
    global health, terminates
    launched.clear()
    health, terminates = WorkerStatus.RUNNING, False


class ObedientLauncher(RunLauncher, ConfigurableClass):
    def __init__(self, inst_data=None, name=""):
        self._inst_data, self.name = inst_data, name
        super().__init__()

    @property
    def inst_data(self):
        return self._inst_data

    @classmethod
    def config_type(cls):
        return {"name": Field(str, is_required=False, default_value="")}

    @classmethod
    def from_config_value(cls, inst_data, config_value):
        return cls(inst_data, **config_value)

    def launch_run(self, context):
        launched.append(self.name)

    def terminate(self, run_id):
        return terminates

    @property
    def supports_check_run_worker_health(self):
        return True

    def check_run_worker_health(self, run):
        return CheckRunHealthResult(health, "it was told to")

    def get_run_worker_debug_info(self, run, include_container_logs=True):
        return "its last words"
