"""The HTTP service and the explorer: browse, search, ingest and read results over HTTP and in a browser."""
