"""Kept: the tree on disk, in one LMDB environment per namespace."""
