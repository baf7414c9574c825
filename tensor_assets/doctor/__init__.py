"""The whole deployment looked at before anything runs. Nothing is built, started or left behind."""
