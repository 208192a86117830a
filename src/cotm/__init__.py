"""The Coalesced Tsetlin Machine."""
