"""What an agent's requests cost: the bill of a turn, what waits to be written down, and what people ask of it.

Prices are :mod:`bot.runtime.prices`, rows and budgets :mod:`bot.store.money`.
"""
