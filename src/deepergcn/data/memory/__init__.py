"""Data that a user holds in memory, as the tables that its readers take."""
