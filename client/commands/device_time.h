// How long devices have worked on a sweep's jobs. Pure functions.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "longreach/v1/api.pb.h"

namespace longreach::client {

// Since 1970.
double SecondsOf(const google::protobuf::Timestamp& time);

struct AttemptTime {
  std::string device;  // The same text for all that shared it.
  double start_s = 0, end_s = 0;
};

// By attempt, the seconds of its device that are its own: while several are on a device, each of them has an equal part of the time.
std::map<uint64_t, double> DeviceSeconds(const std::map<uint64_t, AttemptTime>& attempts);

struct SpentTime {
  std::vector<std::string> values;  // Of the axes, and the device.
  int64_t jobs = 0;                 // That were begun there.
  int64_t attempts = 0;
  int64_t results = 0;
  double seconds = 0;
  double result_seconds = 0;  // Of these, those of the attempts whose results were accepted.
};

class DeviceTime {
 public:
  // What has not ended is counted until `now_s`, or until its worker was last heard of, by its id: in a store that nobody has worked on for a week, no device has
  // worked either. What was lost ended when its worker fell silent, not when that was noticed: where the worker was never heard of again, that is known.
  explicit DeviceTime(double now_s, std::map<std::string, double> seen_s = {}) : now_s_(now_s), seen_s_(std::move(seen_s)) {}

  // The job's values of the axes that rows are by. Each job once.
  void Add(std::vector<std::string> values, const google::protobuf::RepeatedPtrField<v1::AttemptInfo>& attempts);

  // A row for each combination of values and each device, ascending. A job has an equal part of its attempts, whose other jobs may be another sweep's.
  std::vector<SpentTime> Rows() const;
  // Of all of them, without values: a job that was begun on two devices is in two rows, and here once.
  SpentTime Total() const;
  int64_t running() const { return running_; }
  // Of attempts that were lost, those whose workers have been heard of since: they are counted until it was noticed, which may be long after they fell silent.
  SpentTime Unsure() const;
  // Attempts of workers that do not say which device of its kind they have: each worker counts as a device of its own. 0 where all are of one worker, which shares a device
  // with none that is counted here.
  int64_t OnUnknownDevices() const;

 private:
  struct Attempt {
    AttemptTime time;
    std::string worker;
    std::string device;  // Its kind.
    bool is_known = false;  // Which one of its kind it was.
    int members = 1;
    bool is_unsure = false;  // When it ended.
  };
  // A job in an attempt.
  struct Part {
    size_t job = 0;
    uint64_t attempt = 0;
    bool is_accepted = false;
  };

  std::vector<SpentTime> Sums(const std::function<std::vector<std::string>(const Part&)>& row_of) const;

  Attempt AttemptOf(const v1::AttemptInfo& attempt) const;

  double now_s_;
  std::map<std::string, double> seen_s_;  // By worker.
  int64_t running_ = 0;  // Attempts.
  std::vector<std::vector<std::string>> values_;  // By job.
  std::vector<Part> parts_;
  std::map<uint64_t, Attempt> attempts_;
};

}  // namespace longreach::client
