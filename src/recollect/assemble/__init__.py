"""From ranked items to what a caller gets."""
