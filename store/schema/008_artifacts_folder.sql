-- Where the artifacts of a store lie that was given another folder than FILE.artifacts: whoever opens it later need not name it again, and
-- does not take it for a store without files. A copy that 'store backup' makes has none, as it goes elsewhere.
ALTER TABLE identity ADD COLUMN artifacts TEXT NOT NULL DEFAULT '';  -- absolute; empty: FILE.artifacts beside the file
