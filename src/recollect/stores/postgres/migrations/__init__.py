"""How the tables on Postgres are made and brought up to date: Alembic's revisions, each of which is history and never changed."""
