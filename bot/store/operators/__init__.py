"""What those who run the program ask of the book: queues, trends, conversations, compactions, what is parked.

Reads, but for `orders`, which gives an agent a command, and `parked`, which gives a message another try.
"""
