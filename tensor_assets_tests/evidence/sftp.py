"""A real SFTP server in this process, for whatever is kept or published on another host."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import asyncssh


class Server(NamedTuple):
    url: str
    folder: Path  # what it serves


class _Anyone(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False


@contextmanager
def sftp_server(folder: Path) -> Iterator[Server]:
    """Serves ``folder`` on 127.0.0.1; its URL leads to ``store`` below it."""
    folder.mkdir()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> asyncssh.SSHAcceptor:
        return await asyncssh.create_server(
            _Anyone,
            "127.0.0.1",
            0,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(folder).encode()),
        )

    acceptor = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    yield Server(f"ssh://tester@127.0.0.1:{acceptor.get_port()}/store", folder)
    asyncio.run_coroutine_threadsafe(_stop(acceptor), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


async def _stop(acceptor: asyncssh.SSHAcceptor) -> None:
    """With the connections it still has: the client keeps them for reuse."""
    acceptor.close()
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
