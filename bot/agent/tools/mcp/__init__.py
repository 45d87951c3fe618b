"""The MCP servers of a process, one `connection` each, as tools of its agents.

The SDK's session is held in `session` alone; `wire`, `stdio` and `http` are below it. What an answer may take is
bounded by the toolbox.
"""
