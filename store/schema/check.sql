-- The ledger checks: what must hold in a store at every moment. Each query lists violations, one line of text each; none of
-- them returns a row for a sound store. By hand:  sqlite3 -readonly longreach.db < check.sql
--
-- `longreach store check` runs these, and beside them what SQL alone cannot say: SQLite's integrity_check (pages, indexes, types,
-- and the CHECK and UNIQUE rules of the schema) and foreign_key_check, that each id is the SHA-256 of its specification, that each
-- artifact's file is there with its size, and with --artifacts that it still has its hash and is of the jobs whose rows name it; and
-- that a sweep's members are the jobs that its specification makes, each at its position.
--
--   results    exactly one accepted result per succeeded job and none elsewhere; it belongs to the attempt that held the lease: an
--              attempt that was lost, failed or given back, or that the job had left, never has one; a mean is that of the values beside it
--   attempts   what runs is leased to it and to nothing else; members and times fit
--   jobs       wanted, waiting, counted and failed as their sweeps, inputs and attempts say; trained with what their specifications say
--   sweeps     counters are those of their jobs; they have what their jobs begin with, and nothing else beside their members
--   artifacts  made by an attempt that had the job; at most two checkpoints, of jobs without a result
--
-- What the checks of results find is told apart: values in tables are at stake then, and otherwise what is to run and is counted.
--
-- A store has many jobs, and a scan of them is what most checks take. CROSS JOIN keeps the order where the other table is the one to begin with.

-- check of results: a succeeded job has exactly one accepted result
SELECT 'job ' || substr(id, 1, 8) || ' has succeeded and has no measurements'
FROM jobs WHERE state = 'succeeded' AND diverged = 0 AND NOT EXISTS (SELECT 1 FROM measurements WHERE job = num)
ORDER BY num;

-- check of results: what a succeeded job has measured has the score that tables show, without which no result is accepted
SELECT 'job ' || substr(j.id, 1, 8) || ' has succeeded and has no ' || k.metric || ' over all lengths'
FROM jobs AS j CROSS JOIN main_metrics AS k ON k.experiment = j.experiment
WHERE j.state = 'succeeded' AND j.diverged = 0
  AND NOT EXISTS (SELECT 1 FROM measurements AS m WHERE m.job = j.num AND m.metric = k.metric AND m.length = 0 AND m.slice = '')
  AND EXISTS (SELECT 1 FROM measurements AS m WHERE m.job = j.num)
ORDER BY j.num;

-- check of results: no other job has a result
SELECT 'job ' || substr(id, 1, 8) || ' is ' || iif(diverged, 'diverged', state) || ' and has measurements'
FROM jobs WHERE (state <> 'succeeded' OR diverged = 1) AND EXISTS (SELECT 1 FROM measurements WHERE job = num)
ORDER BY num;

-- check of results: measurements are finite numbers
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || m.metric || ' = ' || m.value || ' at length ' || m.length
FROM measurements AS m CROSS JOIN jobs AS j ON j.num = m.job WHERE abs(m.value) > 1.7976931348623157e308
ORDER BY m.job, m.metric, m.length;

-- check of results: a score over all lengths is the mean of those at its lengths. So Longreach's own trainer makes it, which is known by the name of its engines; another
-- worker may know it otherwise. The best scale of attention over all lengths is no mean. Sums of another order differ in their last digits.
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || m.metric || iif(m.slice = '', '', ' of ' || m.slice) || ' = ' || m.value || ' over all lengths, and the mean of its lengths is '
       || (SELECT avg(o.value) FROM measurements AS o WHERE o.job = m.job AND o.metric = m.metric AND o.length > 0 AND o.slice = m.slice)
FROM jobs AS j CROSS JOIN attempts AS a ON a.id = j.attempt
CROSS JOIN measurements AS m ON m.job = j.num AND m.length = 0
  AND m.metric IN ('accuracy', 'bits_per_byte', 'cross_entropy', 'exact_match', 'loss', 'passkey_accuracy', 'perplexity')
WHERE j.state = 'succeeded' AND (a.engine GLOB 'libtorch*' OR a.engine GLOB 'lanes*' OR a.engine GLOB 'resident*' OR a.engine GLOB 'spread*' OR a.engine GLOB 'emulated*')
  AND (SELECT abs(m.value - avg(o.value)) > 1e-9 * abs(m.value) FROM measurements AS o
       WHERE o.job = m.job AND o.metric = m.metric AND o.length > 0 AND o.slice = m.slice)
ORDER BY m.job, m.metric, m.slice;

-- check of results: the share of passkeys is the mean over depths, at each length and over all of them, and LongBench's score the mean of its tasks
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || m.metric || ' = ' || m.value || iif(m.length = 0, '', ' at length ' || m.length) || ', and the mean of its parts is '
       || (SELECT avg(o.value) FROM measurements AS o WHERE o.job = m.job AND o.metric = m.metric AND o.length = m.length AND o.slice <> '')
FROM jobs AS j CROSS JOIN attempts AS a ON a.id = j.attempt
CROSS JOIN measurements AS m ON m.job = j.num AND m.metric IN ('longbench', 'passkey_accuracy') AND m.slice = ''
WHERE j.state = 'succeeded' AND j.experiment = 'llama' AND a.engine GLOB 'libtorch*'
  AND (SELECT abs(m.value - avg(o.value)) > 1e-9 * abs(m.value) FROM measurements AS o
       WHERE o.job = m.job AND o.metric = m.metric AND o.length = m.length AND o.slice <> '')
ORDER BY m.job, m.metric, m.length;

-- check of results: an accepted result belongs to an attempt that had the job and ended well
SELECT 'job ' || substr(j.id, 1, 8) || ' has the result of attempt ' || j.attempt || ', which '
       || iif(a.outcome IS NOT 'succeeded', 'ended ' || ifnull(a.outcome, 'never'), 'did not have it')
FROM jobs AS j LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN attempt_jobs AS aj ON aj.job = j.num AND aj.attempt = j.attempt AND aj.dropped = 0
WHERE j.state = 'succeeded' AND (a.outcome IS NOT 'succeeded' OR aj.attempt IS NULL)
ORDER BY j.num;

-- check: a leased job names a running attempt that has it
SELECT 'job ' || substr(j.id, 1, 8) || ' is leased to attempt ' || j.attempt || ', which '
       || iif(a.ended_at IS NOT NULL, 'has ended', 'does not have it')
FROM jobs AS j LEFT JOIN attempts AS a ON a.id = j.attempt
LEFT JOIN attempt_jobs AS aj ON aj.job = j.num AND aj.attempt = j.attempt AND aj.dropped = 0
WHERE j.state = 'leased' AND (a.id IS NULL OR a.ended_at IS NOT NULL OR aj.attempt IS NULL)
ORDER BY j.num;

-- check: the members of a running attempt are leased to it
SELECT 'attempt ' || a.id || ' runs with job ' || substr(j.id, 1, 8) || ', which is ' || j.state
       || iif(j.state = 'leased', ' to attempt ' || j.attempt, '')
FROM attempts AS a INDEXED BY attempts_running CROSS JOIN attempt_jobs AS aj ON aj.attempt = a.id AND aj.dropped = 0
CROSS JOIN jobs AS j ON j.num = aj.job
WHERE a.ended_at IS NULL AND (j.state <> 'leased' OR j.attempt <> a.id)
ORDER BY a.id, aj.member;

-- check: a running attempt has a member
SELECT 'attempt ' || id || ' runs without any member'
FROM attempts INDEXED BY attempts_running
WHERE ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM attempt_jobs WHERE attempt = id AND dropped = 0)
ORDER BY id;

-- check: an attempt has the members that it began with, numbered along the pack axis
SELECT 'attempt ' || a.id || ' began with ' || a.members || ' members and has ' || count(aj.member) || ', numbered up to '
       || ifnull(max(aj.member), 'none')
FROM attempts AS a LEFT JOIN attempt_jobs AS aj ON aj.attempt = a.id
GROUP BY a.id HAVING count(aj.member) <> a.members OR a.members < 1 OR max(aj.member) <> a.members - 1
ORDER BY a.id;

-- check: what a member of an attempt went on from is an earlier attempt that had the job
SELECT 'attempt ' || aj.attempt || ' went on with job ' || substr(j.id, 1, 8) || ' from attempt ' || aj.from_attempt || ', which '
       || iif(aj.from_attempt >= aj.attempt, 'is no earlier one', 'did not have it')
FROM attempt_jobs AS aj CROSS JOIN jobs AS j ON j.num = aj.job
WHERE aj.from_attempt >= aj.attempt
   OR (aj.from_attempt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM attempt_jobs AS o WHERE o.job = aj.job AND o.attempt = aj.from_attempt))
ORDER BY aj.attempt, aj.member;

-- check: an attempt does not end before it begins
SELECT 'attempt ' || id || ' ended ' || (started_at - ended_at) || ' microseconds before it began'
FROM attempts WHERE ended_at < started_at ORDER BY id;

-- check: a job that goes on has not used up its failures and losses
SELECT 'job ' || substr(id, 1, 8) || ' is ' || state || ' after ' || failures || ' failures of its own and ' || losses || ' lost workers'
FROM jobs WHERE state IN ('waiting', 'queued', 'leased') AND (failures >= 3 OR losses >= 10) ORDER BY num;

-- check: a job asks a worker for what it is
SELECT 'job ' || substr(j.id, 1, 8) || ' is ' || j.experiment || ', ' || j.task || ', ' || j.encoding || ' and asks for '
       || r.experiment || ', ' || r.task || ', ' || r.encoding
FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement
WHERE j.experiment <> r.experiment OR j.task <> r.task OR j.encoding <> r.encoding
ORDER BY j.num;

-- check of results: what a job is trained with, and shown as, is what its specification says, whose hash it is called by. A field that is left out there has its default,
-- which is known here of the seed and of the positions alone. SQLite may read the last digit of a rate otherwise.
SELECT 'job ' || substr(id, 1, 8) || ' is ' || experiment || ', ' || task || ', ' || encoding || iif(randomized, ':randomized', '') || ', learning rate ' || learning_rate
       || ', seed ' || seed || ', ' || steps || ' steps, and its specification says otherwise'
FROM (SELECT *, char(10) AS nl, substr(spec, instr(spec, char(10) || 'learning_rate=') + 15) + 0.0 AS rate FROM jobs)
WHERE substr(spec, 1, 16) = 'longreach-job/1' || nl
  AND ((instr(spec, nl || 'experiment=' || experiment || nl) = 0 AND instr(spec, nl || 'experiment=') > 0)
    OR (instr(spec, nl || 'task=' || task || nl) = 0 AND instr(spec, nl || 'task=') > 0)
    OR (instr(spec, nl || 'encoding=' || encoding || nl) = 0 AND instr(spec, nl || 'encoding=') > 0)
    OR (instr(spec, nl || 'randomized=true' || nl) > 0) <> randomized
    OR (instr(spec, nl || 'seed=' || seed || nl) = 0 AND (seed <> 0 OR instr(spec, nl || 'seed=') > 0))
    OR (instr(spec, nl || 'training.steps=' || steps || nl) = 0 AND instr(spec, nl || 'training.steps=') > 0)
    OR (instr(spec, nl || 'learning_rate=') > 0 AND learning_rate NOT BETWEEN rate * (1 - 1e-12) AND rate * (1 + 1e-12)))
ORDER BY num;

-- check of results: a job begins with what its specification names. Each input has two lines there: the job that makes it, and an artifact or a metric.
SELECT 'job ' || substr(j.id, 1, 8) || ' begins with ' || i.artifact || i.metric || ' of job ' || substr(s.id, 1, 8) || ' for its ' || i.name || ', and its specification says otherwise'
FROM job_inputs AS i CROSS JOIN jobs AS j ON j.num = i.job CROSS JOIN jobs AS s ON s.num = i.source
WHERE instr(j.spec, char(10) || 'inputs.' || i.name || '.job=') > 0
  AND (instr(j.spec, char(10) || 'inputs.' || i.name || '.job=' || s.id || char(10)) = 0
    OR instr(j.spec, char(10) || 'inputs.' || i.name || iif(i.artifact = '', '.metric=' || i.metric, '.artifact=' || i.artifact) || char(10)) = 0)
UNION ALL
SELECT 'job ' || substr(id, 1, 8) || ' has ' || inputs || ' inputs, and its specification names ' || (lines / 2)
FROM (SELECT id, (SELECT count(*) FROM job_inputs WHERE job = num) AS inputs, (length(spec) - length(replace(spec, char(10) || 'inputs.', ''))) / 8 AS lines
      FROM jobs WHERE instr(spec, char(10) || 'inputs.') > 0)
WHERE inputs < lines / 2
ORDER BY 1;

-- check of results: a job asks for a worker of the revisions that its specification names; 1 is left out there. One of others would measure something else.
SELECT 'job ' || substr(j.id, 1, 8) || ' asks for the revisions ' || r.task_revision || ', ' || r.encoding_revision || ' and ' || r.model_revision || ' of its task, encoding and model, and its specification says otherwise'
FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement
WHERE substr(j.spec, 1, 16) = 'longreach-job/1' || char(10)
  AND ((instr(j.spec, char(10) || 'revisions.task=' || r.task_revision || char(10)) = 0 AND (r.task_revision <> 1 OR instr(j.spec, char(10) || 'revisions.task=') > 0))
    OR (instr(j.spec, char(10) || 'revisions.encoding=' || r.encoding_revision || char(10)) = 0 AND (r.encoding_revision <> 1 OR instr(j.spec, char(10) || 'revisions.encoding=') > 0))
    OR (instr(j.spec, char(10) || 'revisions.model=' || r.model_revision || char(10)) = 0 AND (r.model_revision <> 1 OR instr(j.spec, char(10) || 'revisions.model=') > 0)))
ORDER BY j.num;

-- check of results: a job asks for the data sets that its specification names. Its lease has the bytes of these alone: of others it would be trained on whatever a worker
-- has under the name. Which corpus is meant by one that is left out there its kind knows.
SELECT 'job ' || substr(id, 1, 8) || ' asks for the data sets ''' || data || ''', and its specification says otherwise'
FROM (SELECT num, id, data, substr(corpus, 1, instr(corpus, char(10)) - 1) AS corpus,
             ifnull(' ' || substr(model, 1, instr(model, char(10)) - 1) || ifnull(' ' || substr(longbench, 1, instr(longbench, char(10)) - 1), ''), '')
               || ifnull(' +' || replace(substr(mixture, 1, instr(mixture, char(10)) - 1), ',', ' +'), '') AS others
      FROM (SELECT j.num, j.id, r.data, substr(j.spec, nullif(instr(j.spec, char(10) || 'data='), 0) + 6) AS corpus,
                   substr(j.spec, nullif(instr(j.spec, char(10) || 'model.folder='), 0) + 14) AS model,
                   substr(j.spec, nullif(instr(j.spec, char(10) || 'evaluation.longbench='), 0) + 22) AS longbench,
                   substr(j.spec, nullif(instr(j.spec, char(10) || 'training.mixture='), 0) + 18) AS mixture
            FROM jobs AS j JOIN requirements AS r ON r.num = j.requirement WHERE substr(j.spec, 1, 16) = 'longreach-job/1' || char(10)))
WHERE iif(corpus IS NULL, substr(data, length(data) - length(others) + 1) <> others OR instr(substr(data, 1, length(data) - length(others)), ' ') > 0, data <> corpus || others)
ORDER BY num;

-- check: the members of a sweep are numbered without gaps
SELECT 'sweep ' || substr(s.id, 1, 8) || ' has ' || count(*) || ' ' || sj.role || 's, numbered ' || min(sj.position) || ' to '
       || max(sj.position)
FROM sweep_jobs AS sj JOIN sweeps AS s ON s.num = sj.sweep
GROUP BY s.num, sj.role HAVING min(sj.position) <> 0 OR max(sj.position) <> count(*) - 1
ORDER BY s.num;

-- check: a sweep has what its jobs begin with, as a member or as a prerequisite: else nobody wants that, and they wait for good
SELECT 'sweep ' || substr(s.id, 1, 8) || ' has job ' || substr(j.id, 1, 8) || ', and not job ' || substr(m.id, 1, 8) || ', which makes its ' || i.name
FROM job_inputs AS i CROSS JOIN sweep_jobs AS sj ON sj.job = i.job CROSS JOIN sweeps AS s ON s.num = sj.sweep
JOIN jobs AS j ON j.num = i.job JOIN jobs AS m ON m.num = i.source
WHERE NOT EXISTS (SELECT 1 FROM sweep_jobs AS o WHERE o.job = i.source AND o.sweep = sj.sweep)
ORDER BY s.num, j.num, i.name;

-- check: a sweep has no other jobs beside its members
SELECT 'sweep ' || substr(s.id, 1, 8) || ' has job ' || substr(j.id, 1, 8) || ' as a prerequisite, and none of its jobs begins with it'
FROM sweeps AS s CROSS JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'prerequisite' CROSS JOIN jobs AS j ON j.num = sj.job
WHERE NOT EXISTS (SELECT 1 FROM job_inputs AS i CROSS JOIN sweep_jobs AS o ON o.job = i.job AND o.sweep = sj.sweep WHERE i.source = sj.job)
ORDER BY s.num, sj.position;

-- check: the counters of a sweep are those of its jobs, where what it has given up is cancelled until it has a result
SELECT 'sweep ' || substr(id, 1, 8) || ' counts ' || kept || ' (waiting, queued, leased, succeeded, failed, cancelled, diverged),'
       || ' its jobs say ' || counted
FROM (
  SELECT s.num, s.id,
         s.jobs_waiting || ', ' || s.jobs_queued || ', ' || s.jobs_leased || ', ' || s.jobs_succeeded || ', ' || s.jobs_failed
           || ', ' || s.jobs_cancelled || ', ' || s.jobs_diverged AS kept,
         count(j.state) FILTER (WHERE j.state = 'waiting' AND g.job IS NULL) || ', '
           || count(j.state) FILTER (WHERE j.state = 'queued' AND g.job IS NULL) || ', '
           || count(j.state) FILTER (WHERE j.state = 'leased' AND g.job IS NULL) || ', ' || count(j.state) FILTER (WHERE j.state = 'succeeded')
           || ', ' || count(j.state) FILTER (WHERE j.state = 'failed' AND g.job IS NULL) || ', '
           || count(j.state) FILTER (WHERE j.state = 'cancelled' OR (j.state <> 'succeeded' AND g.job IS NOT NULL)) || ', '
           || count(j.state) FILTER (WHERE j.diverged) AS counted
  FROM sweeps AS s LEFT JOIN sweep_jobs AS sj ON sj.sweep = s.num AND sj.role = 'member' LEFT JOIN jobs AS j ON j.num = sj.job
  LEFT JOIN given_up AS g ON g.sweep = sj.sweep AND g.job = sj.job
  GROUP BY s.num)
WHERE kept <> counted
ORDER BY num;

-- check: a job is wanted while a live sweep has it that has not given it up, with the highest priority among those, once it follows all of its sweeps
SELECT 'job ' || substr(j.id, 1, 8) || ' has wanted = ' || j.wanted || ' and priority ' || j.priority
       || ', its live sweeps say ' || (count(s.num) > 0) || ' and ' || ifnull(max(s.priority), 0)
FROM jobs AS j LEFT JOIN sweep_jobs AS sj ON sj.job = j.num LEFT JOIN sweeps AS s ON s.num = sj.sweep AND s.state = 'live'
  AND NOT EXISTS (SELECT 1 FROM given_up AS g WHERE g.sweep = sj.sweep AND g.job = sj.job)
WHERE j.state <> 'succeeded' GROUP BY j.num
HAVING (j.wanted <> (count(s.num) > 0) OR j.priority <> ifnull(max(s.priority), 0))
  AND NOT EXISTS (SELECT 1 FROM sweep_jobs AS o JOIN sweeps AS t ON t.num = o.sweep WHERE o.job = j.num AND o.position >= t.unsettled_from)
ORDER BY j.num;

-- check: what is wanted is not cancelled
SELECT 'job ' || substr(id, 1, 8) || ' is cancelled, but a live sweep wants it'
FROM jobs WHERE state = 'cancelled' AND wanted = 1 ORDER BY num;

-- check: a sweep that has given a job up has it, and wants nothing that needs it
SELECT 'sweep ' || substr(s.id, 1, 8) || ' has given up job ' || substr(j.id, 1, 8) || ', which is none of its jobs'
FROM given_up AS g JOIN sweeps AS s ON s.num = g.sweep JOIN jobs AS j ON j.num = g.job
WHERE NOT EXISTS (SELECT 1 FROM sweep_jobs AS sj WHERE sj.sweep = g.sweep AND sj.job = g.job)
UNION ALL
SELECT 'sweep ' || substr(s.id, 1, 8) || ' has given up job ' || substr(j.id, 1, 8) || ', and wants job ' || substr(d.id, 1, 8) || ', which needs it'
FROM given_up AS g JOIN sweeps AS s ON s.num = g.sweep JOIN jobs AS j ON j.num = g.job
JOIN job_inputs AS i ON i.source = g.job JOIN jobs AS d ON d.num = i.job JOIN sweep_jobs AS sj ON sj.sweep = g.sweep AND sj.job = d.num
WHERE j.state <> 'succeeded' AND d.state <> 'succeeded' AND NOT EXISTS (SELECT 1 FROM given_up AS o WHERE o.sweep = g.sweep AND o.job = d.num)
ORDER BY 1;

-- check: a job waits exactly while an input is not there
SELECT 'job ' || substr(j.id, 1, 8) || ' is ' || j.state || ', but ' || iif(j.state = 'waiting', 'all', 'not all')
       || ' of its inputs are there'
FROM jobs AS j
WHERE j.state IN ('waiting', 'queued', 'leased') AND (j.state = 'waiting') <> EXISTS (
  SELECT 1 FROM job_inputs AS i JOIN jobs AS s ON s.num = i.source WHERE i.job = j.num AND s.state <> 'succeeded')
ORDER BY j.num;

-- check: a wanted job does not wait for a job that will never succeed
SELECT 'job ' || substr(j.id, 1, 8) || ' waits for job ' || substr(s.id, 1, 8) || ', which is ' || s.state
FROM jobs AS j JOIN job_inputs AS i ON i.job = j.num JOIN jobs AS s ON s.num = i.source
WHERE j.state = 'waiting' AND j.wanted = 1 AND s.state IN ('failed', 'cancelled')
ORDER BY j.num, i.name;

-- check: a failed job says why
SELECT 'job ' || substr(id, 1, 8) || ' has failed and does not say why'
FROM jobs WHERE state = 'failed' AND failure = '' ORDER BY num;

-- check: the step of the newest checkpoint is that of its rows
SELECT 'job ' || substr(id, 1, 8) || ' says its checkpoint is of step ' || checkpoint_step || ', its rows say ' || step
FROM (
  SELECT j.num, j.id, j.checkpoint_step,
         (SELECT ifnull(max(a.step), 0) FROM artifacts AS a WHERE a.job = j.num AND a.kind = 'checkpoint') AS step
  FROM jobs AS j)
WHERE checkpoint_step <> step
ORDER BY num;

-- check: an artifact was made by an attempt that had the job
SELECT 'the ' || f.kind || ' ' || substr(f.sha256, 1, 8) || ' of job ' || substr(j.id, 1, 8) || ' is of attempt ' || f.attempt
       || ', which did not have it'
FROM artifacts AS f CROSS JOIN jobs AS j ON j.num = f.job
WHERE NOT EXISTS (SELECT 1 FROM attempt_jobs AS aj WHERE aj.attempt = f.attempt AND aj.job = f.job)
ORDER BY f.job, f.kind, f.step;

-- check: a job has at most two checkpoints, and none once it has its result
SELECT 'job ' || substr(j.id, 1, 8) || ' is ' || j.state || ' and has ' || count(*) || ' checkpoints'
FROM artifacts AS f JOIN jobs AS j ON j.num = f.job WHERE f.kind = 'checkpoint'
GROUP BY j.num HAVING count(*) > iif(j.state = 'succeeded', 0, 2)
ORDER BY j.num;

-- check: a file that a row names is not to be removed
SELECT 'the file ' || substr(u.sha256, 1, 8) || ' is marked as unused, and ' || count(*) || ' rows name it'
FROM unused_files AS u JOIN artifacts AS f ON f.sha256 = u.sha256 GROUP BY u.sha256 ORDER BY u.sha256;

-- check: a loss curve has at most 1000 points
SELECT 'job ' || substr(j.id, 1, 8) || ' has ' || count(*) || ' points in its loss curve'
FROM progress AS p CROSS JOIN jobs AS j ON j.num = p.job GROUP BY p.job HAVING count(*) > 1000 ORDER BY p.job;
