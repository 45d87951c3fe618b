"""Telegram: private chats, groups and topics."""

from connectors.telegram.connector import Telegram

__all__ = ["Telegram"]
