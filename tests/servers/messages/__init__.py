"""The model that tests talk to: the Messages API over HTTP. `server` puts it together, `brain` decides what it says."""
