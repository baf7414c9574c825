"""The commands of the command line, one subject a file. They parse, call a room, and print."""
