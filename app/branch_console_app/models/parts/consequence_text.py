"""A consequence of a command as Markdown: its sentence, and what the sentence speaks of."""

from branch_console.procedures.call.consequence import Consequence
from branch_console_app.models.parts.wording import code, plain, prose

_MOST_DETAILS = 12


def consequence_texts(consequence: Consequence) -> tuple[str, ...]:
    """Return a consequence as paragraphs: the sentence with its code, then its details."""
    suffix = f" {code(consequence.kind)}" if consequence.kind else ""
    sentence = f"{prose(consequence.text)}{suffix}"
    return (sentence, _details(consequence.details)) if consequence.details else (sentence,)


def undo_text(undo: str) -> str:
    """Return how a command can be undone, so that it says by itself that it is about undo."""
    lead = "" if "undo" in undo.lower() else "Undo: "
    return f":material/undo: {lead}{prose(undo)}"


def _details(details: tuple[str, ...]) -> str:
    """Write what a sentence speaks of: names in a line, descriptions on lines of their own."""
    shown, rest = details[:_MOST_DETAILS], len(details) - _MOST_DETAILS
    if all(" " not in each for each in shown):
        more = f" and {rest} more" if rest > 0 else ""
        return f":small[{', '.join(code(each) for each in shown)}{more}]"
    lines = [*shown, *([f"and {rest} more"] if rest > 0 else [])]
    return "\n".join(f"- :small[{plain(each)}]" for each in lines)
