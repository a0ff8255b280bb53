-- Of a member of an attempt: the attempt before it whose checkpoint of this job it was given to go on from, at the step `start_step` of its attempt. NULL: none, or
-- nobody has written it down, as before this schema. It is a member's: those of one pack are at one step, and not all checkpoints of it need be one attempt's.
ALTER TABLE attempt_jobs ADD COLUMN from_attempt INTEGER REFERENCES attempts(id);

-- One line per attempt. `went_on_from` are the attempts whose checkpoints its jobs went on from: one, as a rule.
DROP VIEW attempts_view;
CREATE VIEW attempts_view AS
SELECT a.id AS attempt, w.name AS worker, a.outcome, a.detail, a.members, a.start_step, a.step,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started_at / 1000000, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended_at / 1000000, 'unixepoch') AS ended_at,
       (a.ended_at - a.started_at) / 1000000.0 AS seconds, a.device, a.engine, a.threads, a.build,
       (SELECT group_concat(DISTINCT aj.from_attempt) FROM attempt_jobs AS aj WHERE aj.attempt = a.id) AS went_on_from
FROM attempts AS a JOIN workers AS w ON w.id = a.worker;
