-- Jobs that were cancelled alone: their sweep goes on without them, as if it did not have them, until they are tried again or it is submitted again. Other sweeps that
-- have them are not asked.
CREATE TABLE given_up(
  sweep INTEGER NOT NULL REFERENCES sweeps(num),
  job INTEGER NOT NULL REFERENCES jobs(num),
  PRIMARY KEY (sweep, job)
) STRICT, WITHOUT ROWID;
