"""The floor: what a bot costs that promises nothing. A bare aiogram handler asks the SDK, streaming, and answers once.

`python -m tests.bench.speed.floor API_BASE MODEL_URL`. Nothing is stored, nothing is shown while it is written, and a
conversation is its last message; what it does is what every bot on these two libraries has to do.
"""

from __future__ import annotations

import asyncio
import sys

import anthropic
from aiogram import Bot, Dispatcher, types
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ChatAction

from tests.bench.speed.marks import KEY, MODEL, TOKEN


async def serve(api_base: str, model_url: str) -> None:
    """Poll and answer until killed."""
    bot = Bot(TOKEN, session=AiohttpSession(api=TelegramAPIServer.from_base(api_base)))
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url=model_url, max_retries=0)
    dispatcher = Dispatcher()

    @dispatcher.message()
    async def answer(message: types.Message) -> None:
        await bot.send_chat_action(message.chat.id, ChatAction.TYPING)
        asked: anthropic.types.MessageParam = {"role": "user", "content": message.text or ""}
        text = ""
        async with client.messages.stream(model=MODEL, max_tokens=1_000, messages=[asked]) as stream:
            async for piece in stream.text_stream:
                text += piece
        await message.answer(text)

    await dispatcher.start_polling(bot, handle_signals=False, allowed_updates=["message"])


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:3]))
