"""The chat page of a browser."""

from connectors.web.connector import Web

__all__ = ["Web"]
