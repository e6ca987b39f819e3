"""Generated graphs with the schema of ogbn-proteins and ogbg-ppa."""
