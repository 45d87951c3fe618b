"""What models cost: `ledger` has a row for each request, `spending` the same added up, `budgets` what may be spent.

Money is nano-dollars, in integers. Who asks, and when, is none of this room's; what a token costs says
:mod:`bot.runtime.prices`.
"""
