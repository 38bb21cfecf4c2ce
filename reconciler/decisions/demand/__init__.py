"""The demand: pods that ask for a place, alone or in gangs, and what was bought for whom."""
