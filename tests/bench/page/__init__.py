"""How long each page takes on the server over a book of 1,000 conversations: `make bench-page`."""
