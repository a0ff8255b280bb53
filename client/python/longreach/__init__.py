"""Longreach in a notebook: sweeps are looked at, submitted and steered, and tables and values come as pandas DataFrames.

    import longreach
    with longreach.open_store("b1.db") as client:
        print(client.table("table-b1"))

docs/howto/notebook.md shows what else there is.
"""
import importlib.metadata
import pkgutil

# Beside stubs that somebody has made of the .proto files, which are a package of the same name (docs/howto/api.md).
__path__ = pkgutil.extend_path(__path__, __name__)

from longreach.client import Client
from longreach.doors import connect, open_store
from longreach.errors import Error, NotAllowed, NotFound, Refused, TimedOut, Unreachable

__all__ = ["Client", "Error", "NotAllowed", "NotFound", "Refused", "TimedOut", "Unreachable", "connect", "open_store"]
__version__ = importlib.metadata.version("longreach")
