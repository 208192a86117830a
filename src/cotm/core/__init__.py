"""The definition that every backend must agree on, and what all other modules build on."""
