"""How often, and how long apart, a commit tries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from branch_console.format import options as table_options
from branch_console.format.options import Options

_JITTER: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how long a commit tries; durations in milliseconds."""

    max_retries: int
    min_wait: int
    max_wait: int
    timeout: int | None

    @classmethod
    def of(cls, options: Options) -> "RetryPolicy":
        """Return the retry policy that the options of a table set."""
        return cls(
            max_retries=options.read(table_options.COMMIT_MAX_RETRIES),
            min_wait=options.read(table_options.COMMIT_MIN_RETRY_WAIT),
            max_wait=options.read(table_options.COMMIT_MAX_RETRY_WAIT),
            timeout=options.read(table_options.COMMIT_TIMEOUT),
        )

    def wait_millis(self, retry: int, jitter: float) -> float:
        """How long to wait before a retry, the first of which is 0; `jitter` from 0 to 1 (C13)."""
        # Shifted further, a wait would outgrow every float long before a user gives up.
        wait: int = min(self.min_wait * 2 ** min(retry, 62), self.max_wait)
        return wait * (1 + _JITTER * jitter)

    def tries(
        self,
        *,
        clock: Callable[[], int],
        sleep: Callable[[float], None],
        jitter: Callable[[], float],
    ) -> Iterator[int]:
        """Yield once a try, from 0, waiting in between; ends with the count or the time.

        Args:
            clock: The time in milliseconds.
            sleep: Waits that many seconds.
            jitter: A random number from 0 to 1.
        """
        began = clock()
        yield 0
        for retry in range(self.max_retries):
            wait = self.wait_millis(retry, jitter())
            if self.timeout is not None and clock() + wait - began > self.timeout:
                return
            sleep(wait / 1000)
            yield retry + 1
