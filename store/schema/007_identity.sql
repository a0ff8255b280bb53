-- Which store this is. Attempts are numbered within a store, so a worker that comes with one says of which.
CREATE TABLE identity(
  id TEXT NOT NULL                          -- 32 hexadecimal digits, drawn once; copies and backups have the same
) STRICT;
INSERT INTO identity(id) VALUES (lower(hex(randomblob(16))));
