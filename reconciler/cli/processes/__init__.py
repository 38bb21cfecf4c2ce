"""Commands that go on: the loop, the previewer, an apply, put together from options."""
