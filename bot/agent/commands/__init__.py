"""The commands of people. `table` has a row for each: the parser, `/help`, menus and docs are made from it.

To add one: a row in `table`, what it does in `handlers` (a method, named in `BY_NAME`; longer words in `texts`), and a
test. When it is carried out, and for whom, is `dispatch`'s. What connectors, admission and the page need of it is
handed to them by the program.
"""
