"""Files: atomic writes, the cache, folders, digests, downloads and archives."""
