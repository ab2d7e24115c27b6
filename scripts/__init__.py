"""Run, capture, compare, say and show: the tools that make a page out of two programs."""
