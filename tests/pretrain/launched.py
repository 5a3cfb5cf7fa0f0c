"""Processes that train together, as torchrun starts them, but forked from a server."""

# torchrun itself starts Python anew in each process, which imports torch for seconds
LAUNCH = """
import sys
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

def work(code, arguments):
    sys.argv = ["-c", *arguments]
    exec(code, {"__name__": "__main__"})

config = LaunchConfig(
    1, 1, 2, run_id="test", rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0,
    start_method="fork",
)
try:
    elastic_launch(config, work)(sys.argv[1], sys.argv[2:])
except ChildFailedError as error:
    sys.exit(error.get_first_failure()[1].exitcode)
"""
RUN = "from firth import cli; cli.run()"
# the command line, with a checkpoint after every step, and few evaluations
OFTEN = """
from firth import cli
from firth.pretrain.config import MlmTuning
from firth.pretrain.train import make_mlm_run
make_mlm_run.__wrapped__.__kwdefaults__["tuning"] = MlmTuning(checkpoint_seconds=0.0, evaluations=3)
cli.run()
"""


def launched(server, code, *arguments, workdir, **options):
    """Run code, or with ``RUN`` a command, in two processes that train together."""
    return server.python(LAUNCH, code, *arguments, workdir=workdir, **options).wait()
