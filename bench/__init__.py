"""Thixo measured beside its peers: `python -m bench eager`. See README.md here."""
