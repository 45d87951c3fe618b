"""The chat page of a browser, whose platform is the book: the page itself is :mod:`bot.page.chat`."""

from connectors.web.connector import Web

__all__ = ["Web"]
