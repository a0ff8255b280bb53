-- Which device of its kind a worker computes on, and an attempt was computed on, as the worker said; '': it did not. Two workers may be on one device, whose time
-- is then theirs together.
ALTER TABLE workers ADD COLUMN device_id TEXT NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN device_id TEXT NOT NULL DEFAULT '';
