"""The Discord connector, against a Discord over HTTP and websockets."""
