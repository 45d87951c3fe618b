"""What the program says below a text of the model, whatever that text has open at its end."""

from __future__ import annotations

import pytest

from bot.history.replies import closed, for_people, noted
from bot.messages import text_block
from connectors.text.parsing import parse
from connectors.text.tree import Paragraph, plain

NOTE = "(stopped)"
EVERYTHING = """\
# A *title*

Words with **bold**, _emphasis_, ***both***, ~~gone~~, `code`, ``co`de`` and [a link](https://example.com/a_b).
3 * 4 = 12 and snake_case_name, `**not bold**`.

```python
print("**")  # ~~~ and ` and > that
```

1. one
   ```sh
   echo `date`
   ```
2. two with **bold**

- a
  - b
    ~~~~
    ```
    ~~~~

> quoted *words*
> ```
> code in a quote
> ```

| a | b |
|---|---|
| **x** | `y` |

---

中文**粗体**和`代码`。 Done.
"""


def test_the_note_is_a_paragraph_of_its_own_wherever_the_text_ends() -> None:
    for end in range(1, len(EVERYTHING) + 1):
        last = parse(noted(EVERYTHING[:end], NOTE, cut=True))[-1]
        assert isinstance(last, Paragraph), EVERYTHING[:end]
        assert plain(last.children) == NOTE, EVERYTHING[:end]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("```python\nprint(1)", "```python\nprint(1)\n```"),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("~~~~\na ``` b", "~~~~\na ``` b\n~~~~"),
        ("1. so\n\n   ```\n   x", "1. so\n\n   ```\n   x\n   ```"),
        ("> ```\n> x", "> ```\n> x\n> ```"),
        ("This is **very", "This is **very**"),
        ("This is ***very", "This is ***very***"),
        ("call `foo(**", "call `foo(**`"),
        ("2 * 3 and snake_case_na", "2 * 3 and snake_case_na"),
        ("**done** and so", "**done** and so"),
        ("我们**明天", "我们**明天"),
        ("", ""),
    ],
)
def test_what_is_open_at_the_end_is_closed_and_nothing_else(text: str, whole: str) -> None:
    assert closed(text) == whole


def test_a_refusal_is_said_also_where_something_was_said_before() -> None:
    assert for_people([text_block("I can")], "refusal") == "I can …\n\n(The model declined to go on.)"
    assert for_people([text_block("```\nx")], "refusal") == "```\nx\n```\n\n(The model declined to go on.)"
    assert for_people([], "refusal") == "The model declined to answer that."
