"""One module a framework adapter; each imports its framework and is loaded only by `get`."""
