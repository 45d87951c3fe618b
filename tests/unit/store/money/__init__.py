"""The tests of bot/store/money."""
