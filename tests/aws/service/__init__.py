"""An Auto Scaling service of our own, over HTTP and with behaviour, for what the call shapes of moto do not do."""
