"""The MCP servers of a process, one connection each, as tools of its agents.

`session` alone holds the SDK's. What a result may be is bounded by the toolbox.
"""
