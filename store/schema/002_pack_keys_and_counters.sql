-- The members of a new sweep are counted once, by whoever adds them (AddSweepJobs), and no longer row by row.
DROP TRIGGER sweep_jobs_counted;

-- Half of a SHA-256 tells packs apart as well, and each job carries it twice while it is queued.
UPDATE jobs SET pack_key = substr(pack_key, 1, 32);
