"""Tables of what must be refused: one test for a function, which names all that is not."""

from __future__ import annotations

import re


def check_refused(error, cases):
    """Call what must be refused, and report together what is not, or not in these words.

    ``cases`` are triples: a name, a function without arguments, and a pattern of the message.
    """
    wrong = []
    for name, call, pattern in cases:
        try:
            call()
        except error as problem:
            if not re.search(pattern, str(problem)):
                wrong.append(f"{name}: expected {pattern!r}, found {problem}")
        except Exception as problem:
            wrong.append(f"{name}: expected {error.__name__}, found {problem!r}")
        else:
            wrong.append(f"{name}: was taken")
    assert not wrong, "\n".join(wrong)
