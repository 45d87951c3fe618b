"""aiogram's models are built when they are used, and all of them can be."""

from __future__ import annotations

import json
import subprocess
import sys

_LOADED = """
import json, sys
import connectors.telegram
from aiogram import methods, types
from pydantic import BaseModel

models = [
    model
    for module in (types, methods)
    for name in module.__all__
    if isinstance(model := getattr(module, name), type) and issubclass(model, BaseModel)
]
built = sum(model.__pydantic_complete__ for model in models if issubclass(model, types.TelegramObject))
update = types.Update.model_validate({"update_id": 1, "message": {"message_id": 7, "date": 1, "text": "hello",
    "chat": {"id": 1, "type": "private"}, "entities": [{"type": "bold", "offset": 0, "length": 5}]}})
for model in models:
    model.model_rebuild()  # raises where one of its names is not known
class Person(BaseModel):
    friend: "Dog"
class Dog(BaseModel):
    name: str
Person.model_rebuild()
print(json.dumps({
    "built": built,
    "models": len(models),
    "text": update.message.text,
    "entity": type(update.message.entities[0]).__name__,
    "complete": all(model.__pydantic_complete__ for model in models),
    "others": Person(friend={"name": "Rex"}).friend.name,
}))
"""


def test_what_a_bot_does_not_use_is_not_built_and_what_it_uses_is_whole() -> None:
    """In a process of its own: this one has aiogram, and has used it."""
    ran = subprocess.run([sys.executable, "-c", _LOADED], check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    assert found.pop("models") > 500
    assert found.pop("built") < 20, "aiogram builds its models in another way: see connectors/telegram/library.py"
    assert found == {"text": "hello", "entity": "MessageEntity", "complete": True, "others": "Rex"}
