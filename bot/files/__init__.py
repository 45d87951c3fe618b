"""The folder of a conversation: what lies in it, and how a model is shown that.

`parser_pool` opens what people send in processes of their own, `own_folder` lets nobody out. Bringing files in is the
gateway's, sending them a tool's.
"""
