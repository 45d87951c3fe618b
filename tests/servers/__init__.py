"""Servers that tests talk to over real sockets: a model's and a platform's."""
