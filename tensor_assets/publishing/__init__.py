"""A built site put where readers are: a folder, a git branch, or any fsspec URL. Never by itself.

At a target the newest version lies at the root, so that addresses stay; every version, the newest too, also lies whole
under ``versions/NAME/`` and is never changed again. ``versions.html`` links them, ``versions/publication.json`` says
what each is. What a target holds beside that is somebody else's and stays.
"""
