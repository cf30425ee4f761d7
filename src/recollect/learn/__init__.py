"""Learns from what was used: feedback on recalls, and weights of a user that follow from it."""
