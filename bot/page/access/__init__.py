"""Who may see the page: keys, logins, names that it is called by, and who calls.

What is shown to whom is up to each page.
"""
