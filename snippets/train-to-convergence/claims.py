"""What the page asserts of its runs."""
