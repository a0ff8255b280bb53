-- How long a sweep was expected to take when it was submitted, by the workers that were there then, and when that was. NULL: nobody knew, as before this schema.
ALTER TABLE sweeps ADD COLUMN expected_seconds REAL CHECK (expected_seconds > 0);
ALTER TABLE sweeps ADD COLUMN expected_at INTEGER CHECK ((expected_at IS NULL) = (expected_seconds IS NULL));
