"""A job whose worker stopped before its end, as one sentence for every page that shows it."""

from branch_console.jobs.progress import JobView
from branch_console_app.models.jobs.step_words import while_words
from branch_console_app.models.parts.wording import age, plain


def cut_off_words(job: JobView, what: str, now_millis: int) -> str:
    """Say who started a job that was cut off, and when; Markdown.

    When its worker stopped is written nowhere: a job of long ago is known by its start.

    Args:
        job: The job.
        what: Its noun, such as "row comparison".
        now_millis: The time.
    """
    begun = f"{plain(job.actor)} started {age(job.created_millis, now_millis)}"
    return f"The {what} that {begun} was cut off{while_words(job.step)}: no worker runs."
