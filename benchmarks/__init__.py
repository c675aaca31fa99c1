"""What treedb is measured by, each figure beside the floor it stands on."""
