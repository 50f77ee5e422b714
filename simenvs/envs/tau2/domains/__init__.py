"""The domains, one folder each: the form of its data, its tools."""
