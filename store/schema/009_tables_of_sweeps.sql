-- How a sweep is printed unless something else is asked for: the table of the file that it was submitted from, which no other machine need
-- have. Of no meaning for the sweep itself, so what cannot be read here is passed over.
ALTER TABLE sweeps ADD COLUMN table_spec TEXT NOT NULL DEFAULT '';  -- a TableSpec as JSON; empty: none was given
