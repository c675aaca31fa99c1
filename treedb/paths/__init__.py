"""Where: keys, their order and bytes, paths, patterns, tries and push ids. Pure."""
