#include "tests/simulation/plants.h"

namespace longreach::simulation {

const std::vector<Plant>& Plants() {
  static const std::vector<Plant> plants = {
      {kAnswersBeforeCommit, ""},
      {kShortLease, ""},
      {kStaleReport, ""},
      {"forgets to count", "DROP TRIGGER jobs_counted"},
      {"counts a preemption as a failure",
       "CREATE TRIGGER planted AFTER UPDATE OF outcome ON attempts WHEN NEW.outcome = 'given_back' BEGIN UPDATE jobs SET failures = "
       "failures + 1 WHERE num IN (SELECT job FROM attempt_jobs WHERE attempt = NEW.id AND dropped = 0); END"},
      {"does not count a loss",
       "CREATE TRIGGER planted AFTER UPDATE OF losses ON jobs WHEN NEW.losses > OLD.losses BEGIN UPDATE jobs SET losses = OLD.losses "
       "WHERE num = NEW.num; END"},
      {"accepts a result for a job's first attempt",
       "CREATE TRIGGER planted AFTER UPDATE OF state ON jobs WHEN NEW.state = 'succeeded' BEGIN UPDATE jobs SET attempt = (SELECT "
       "min(attempt) FROM attempt_jobs WHERE job = NEW.num) WHERE num = NEW.num; END"},
      {"changes a result in its last digit",
       "CREATE TRIGGER planted AFTER INSERT ON measurements WHEN NEW.length = 50 BEGIN UPDATE measurements SET value = value + 1e-15 "
       "WHERE job = NEW.job AND length = 50; END"},
      {"keeps a failed pack together",
       "CREATE TRIGGER planted AFTER UPDATE OF split_group ON jobs WHEN NEW.split_group <> 0 BEGIN UPDATE jobs SET split_group = 0 "
       "WHERE num = NEW.num; END"},
      {"loses a point of a loss curve",
       "CREATE TRIGGER planted AFTER INSERT ON progress WHEN NEW.step = 27 BEGIN DELETE FROM progress WHERE job = NEW.job AND step = 27; END"},
      {"does not revive what was cancelled",
       "CREATE TRIGGER planted BEFORE UPDATE OF state ON jobs WHEN OLD.state = 'cancelled' BEGIN SELECT RAISE(IGNORE); END"},
      {"forgets what a sweep gave up",
       "CREATE TRIGGER planted AFTER INSERT ON given_up BEGIN DELETE FROM given_up WHERE sweep = NEW.sweep AND job = NEW.job; END"},
      {"gives up for every sweep what one gives up",
       "CREATE TRIGGER planted AFTER INSERT ON given_up BEGIN INSERT OR IGNORE INTO given_up(sweep, job) SELECT sweep, job FROM sweep_jobs "
       "WHERE job = NEW.job; END"},
      {"goes on with what only given-up jobs need",
       "CREATE TRIGGER planted AFTER INSERT ON given_up WHEN EXISTS (SELECT 1 FROM sweep_jobs WHERE sweep = NEW.sweep AND job = NEW.job AND "
       "role = 'prerequisite') BEGIN DELETE FROM given_up WHERE sweep = NEW.sweep AND job = NEW.job; END"},
      {"gives up what other jobs of the sweep still need",
       "CREATE TRIGGER planted AFTER INSERT ON given_up BEGIN INSERT OR IGNORE INTO given_up(sweep, job) SELECT sj.sweep, sj.job FROM job_inputs AS i "
       "JOIN sweep_jobs AS sj ON sj.job = i.source AND sj.sweep = NEW.sweep AND sj.role = 'prerequisite' JOIN jobs AS j ON j.num = i.source "
       "WHERE i.job = NEW.job AND j.state <> 'succeeded'; END"},
      {"goes on with given-up jobs whose sweep is resumed",
       "CREATE TRIGGER planted AFTER UPDATE OF state ON sweeps WHEN OLD.state = 'paused' AND NEW.state = 'live' BEGIN DELETE FROM given_up "
       "WHERE sweep = NEW.num; END"},
      {"goes on with what is paused",
       "CREATE TRIGGER planted AFTER UPDATE OF wanted ON jobs WHEN NEW.wanted = 0 BEGIN UPDATE jobs SET wanted = 1 WHERE num = NEW.num; END"},
      {"forgets who does not follow yet",
       "CREATE TRIGGER planted AFTER UPDATE OF unsettled_from ON sweeps WHEN NEW.unsettled_from > 0 BEGIN UPDATE sweeps SET "
       "unsettled_from = NULL WHERE num = NEW.num; END"},
      {"forgets a checkpoint",
       "CREATE TRIGGER planted AFTER INSERT ON artifacts WHEN NEW.kind = 'checkpoint' AND NEW.step > 40 BEGIN DELETE FROM artifacts "
       "WHERE job = NEW.job AND kind = 'checkpoint' AND step = NEW.step; END"},
      {"forgets a worker's incarnation",
       "CREATE TRIGGER planted AFTER UPDATE OF incarnation ON workers WHEN NEW.incarnation > OLD.incarnation BEGIN UPDATE workers SET "
       "incarnation = OLD.incarnation WHERE id = NEW.id; END"},
      {"puts nobody aside",
       "CREATE TRIGGER planted AFTER UPDATE OF state ON workers WHEN NEW.state = 'put_aside' BEGIN UPDATE workers SET state = 'active' "
       "WHERE id = NEW.id; END"},
      {"forgets what a worker has failed at",
       "CREATE TRIGGER planted AFTER UPDATE OF recent_failures ON workers WHEN NEW.recent_failures <> '' BEGIN UPDATE workers SET "
       "recent_failures = '' WHERE id = NEW.id; END"},
      {"fails a job at its second failure",
       "CREATE TRIGGER planted AFTER UPDATE OF failures ON jobs WHEN NEW.failures = 2 AND NEW.state = 'queued' BEGIN UPDATE jobs SET "
       "state = 'failed' WHERE num = NEW.num; END"},
      {"forgets that a job diverged",
       "CREATE TRIGGER planted AFTER UPDATE OF diverged ON jobs WHEN NEW.diverged = 1 BEGIN UPDATE jobs SET diverged = 0 WHERE num = "
       "NEW.num; END"},
  };
  return plants;
}

const Plant* FindPlant(std::string_view name) {
  for (const Plant& plant : Plants()) {
    if (plant.name == name) return &plant;
  }
  return nullptr;
}

}  // namespace longreach::simulation
