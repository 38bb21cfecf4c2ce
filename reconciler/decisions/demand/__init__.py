"""The demand: pods that need a node, alone or in gangs, and which nodes were added for them."""
