-- A job that its sweep has given up counts as cancelled there until it has a result, whatever becomes of it for another sweep: nobody waits for it.
DROP TRIGGER jobs_counted;
CREATE TRIGGER jobs_counted AFTER UPDATE OF state, diverged ON jobs
WHEN OLD.state <> NEW.state OR OLD.diverged <> NEW.diverged
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting + (NEW.state = 'waiting') - (OLD.state = 'waiting'),
    jobs_queued = jobs_queued + (NEW.state = 'queued') - (OLD.state = 'queued'),
    jobs_leased = jobs_leased + (NEW.state = 'leased') - (OLD.state = 'leased'),
    jobs_succeeded = jobs_succeeded + (NEW.state = 'succeeded') - (OLD.state = 'succeeded'),
    jobs_failed = jobs_failed + (NEW.state = 'failed') - (OLD.state = 'failed'),
    jobs_cancelled = jobs_cancelled + (NEW.state = 'cancelled') - (OLD.state = 'cancelled'),
    jobs_diverged = jobs_diverged + NEW.diverged - OLD.diverged
  WHERE num IN (SELECT sj.sweep FROM sweep_jobs AS sj WHERE sj.job = NEW.num AND sj.role = 'member'
    AND NOT EXISTS (SELECT 1 FROM given_up AS g WHERE g.sweep = sj.sweep AND g.job = sj.job));
END;
CREATE TRIGGER jobs_given_up_counted AFTER UPDATE OF state, diverged ON jobs
WHEN (OLD.state = 'succeeded') <> (NEW.state = 'succeeded') OR OLD.diverged <> NEW.diverged
BEGIN
  UPDATE sweeps SET
    jobs_succeeded = jobs_succeeded + (NEW.state = 'succeeded') - (OLD.state = 'succeeded'),
    jobs_cancelled = jobs_cancelled - (NEW.state = 'succeeded') + (OLD.state = 'succeeded'),
    jobs_diverged = jobs_diverged + NEW.diverged - OLD.diverged
  WHERE num IN (SELECT sj.sweep FROM sweep_jobs AS sj WHERE sj.job = NEW.num AND sj.role = 'member'
    AND EXISTS (SELECT 1 FROM given_up AS g WHERE g.sweep = sj.sweep AND g.job = sj.job));
END;
CREATE TRIGGER given_up_counted AFTER INSERT ON given_up
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting - (j.state = 'waiting'),
    jobs_queued = jobs_queued - (j.state = 'queued'),
    jobs_leased = jobs_leased - (j.state = 'leased'),
    jobs_failed = jobs_failed - (j.state = 'failed'),
    jobs_cancelled = jobs_cancelled + (j.state NOT IN ('succeeded', 'cancelled'))
  FROM jobs AS j WHERE j.num = NEW.job AND sweeps.num = NEW.sweep
    AND EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = NEW.sweep AND sj.job = NEW.job AND sj.role = 'member');
END;
CREATE TRIGGER wanted_again_counted AFTER DELETE ON given_up
BEGIN
  UPDATE sweeps SET
    jobs_waiting = jobs_waiting + (j.state = 'waiting'),
    jobs_queued = jobs_queued + (j.state = 'queued'),
    jobs_leased = jobs_leased + (j.state = 'leased'),
    jobs_failed = jobs_failed + (j.state = 'failed'),
    jobs_cancelled = jobs_cancelled - (j.state NOT IN ('succeeded', 'cancelled'))
  FROM jobs AS j WHERE j.num = OLD.job AND sweeps.num = OLD.sweep
    AND EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = OLD.sweep AND sj.job = OLD.job AND sj.role = 'member');
END;

-- What was given up before.
UPDATE sweeps SET
  jobs_waiting = jobs_waiting - c.waiting,
  jobs_queued = jobs_queued - c.queued,
  jobs_leased = jobs_leased - c.leased,
  jobs_failed = jobs_failed - c.failed,
  jobs_cancelled = jobs_cancelled + c.waiting + c.queued + c.leased + c.failed
FROM (
  SELECT g.sweep, count(*) FILTER (WHERE j.state = 'waiting') AS waiting, count(*) FILTER (WHERE j.state = 'queued') AS queued,
         count(*) FILTER (WHERE j.state = 'leased') AS leased, count(*) FILTER (WHERE j.state = 'failed') AS failed
  FROM given_up AS g JOIN sweep_jobs AS sj ON sj.sweep = g.sweep AND sj.job = g.job AND sj.role = 'member' JOIN jobs AS j ON j.num = g.job
  GROUP BY g.sweep) AS c
WHERE sweeps.num = c.sweep;
