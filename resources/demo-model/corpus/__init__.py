"""The demo model's corpus: one module per domain, everything generated from seeds."""
