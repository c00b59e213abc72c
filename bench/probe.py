"""Costs of a load: time and memory of all processes between the client and the load agent."""

import time

from bench.editor import Editor
from bench.processes import machine_seconds, memory, processor_seconds, tree


class Probe:
    """A measurement of resources, started before a load and read after it."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._before = {pid: processor_seconds(pid) for pid in tree(editor.pid)}
        self._ours = time.process_time()
        self._machine, self._begun = machine_seconds(), time.monotonic()

    def costs(self, count: int) -> dict[str, float]:
        """Microseconds a message, peak MB of the chain, and cores used by other programs."""
        spent = {
            pid: processor_seconds(pid) - self._before.get(pid, 0) for pid in tree(self._editor.pid)
        }
        seconds = time.monotonic() - self._begun
        ours = sum(spent.values()) + time.process_time() - self._ours
        chain = chain_pids(self._editor)
        return {
            "cpu": sum(spent.get(pid, 0) for pid in chain) / count * 1e6,
            "memory": sum(memory(pid).highest for pid in chain),
            "other_cores": max(0.0, (machine_seconds() - self._machine - ours) / seconds),
        }


def chain_pids(editor: Editor) -> list[int]:
    """Ids of the processes between the client and the load agent."""
    agent = editor.agent_notes().get("pid")
    return [pid for pid in tree(editor.pid) if pid != agent]
