"""The rules that tidy.py enforces, as data: which folder may include what, and what lies at the top."""

# Folder -> folders (and single files) of ours that it may include, beside itself. A file belongs to the longest row that
# its path begins with; "" is everything. Rows that end in "/." are the files directly in that folder, which only wire.
MAY_INCLUDE = {
    "proto/base": [],
    "proto/catalog": [],
    # Roles, tokens, certificates and channels: what both ends of a connection must agree on.
    "proto/access": ["proto/base", "proto/longreach/v1"],
    # The programs' manual pages, of the options that they have.
    "proto/manual": ["proto/base"],
    "proto/types": ["proto"],
    "store": ["proto/base", "proto/types"],
    # Messages are values like those of proto/types, so decisions may read them. Services they may not: see SERVICES.
    "scheduler/core": ["proto/base", "proto/types", "proto/longreach/v1"],
    # Expansion refuses unknown names.
    "scheduler/experiments": ["proto/base", "proto/types", "proto/longreach/v1", "proto/catalog"],
    "scheduler/service": ["scheduler/core", "scheduler/experiments", "store", "proto"],
    "scheduler/.": ["scheduler", "store", "proto"],
    "worker/data": ["proto/base", "worker/tokenizer/tokenizer.h"],
    "worker/tokenizer": ["proto/base"],
    "worker/tokenizer/program": ["worker/tokenizer/contract.h", "proto/base/build_info.h"],
    "worker/trainer": ["proto/base", "proto/catalog", "worker/data", "worker/tokenizer"],
    "worker/agent": ["worker/trainer/train.h", "proto"],
    "worker/.": ["worker/agent", "worker/data", "worker/tokenizer/sentence_pieces.h", "worker/trainer/train.h", "proto"],
    "client": ["proto"],
    "tests": [""],
    "tests/support/tsan": [],
}

# Headers of others -> the rows that may include them. What is not named here is the standard library or the system.
EXTERNAL = {
    "torch/": ["worker/trainer", "tests"],
    "ATen/": ["worker/trainer", "tests"],
    "c10/": ["worker/trainer", "tests"],
    "cuda": ["worker/trainer", "tests"],
    "sentencepiece": ["worker/tokenizer/program"],  # Its library exports a protobuf of its own.
    "sqlite3": ["store", "tests"],
    "openssl/": ["proto/base", "proto/access", "tests"],
    "jpeglib.h": ["worker/data"],
    "jerror.h": ["worker/data"],
    "png.h": ["client", "worker/data"],
    "minizip/": ["worker/data", "tests"],
    "yaml-cpp/": ["client", "tests"],
    "CLI/": ["proto/manual", "client", "scheduler/.", "worker/.", "tests"],
    "nlohmann/": ["proto/base", "client", "worker/trainer", "worker/data", "worker/agent", "worker/.", "tests"],
    "boost/": ["client", "scheduler/service", "scheduler/.", "worker/agent", "worker/.", "tests"],
    "grpc/": ["proto/access", "client", "scheduler/service", "scheduler/.", "worker/agent", "worker/.", "tests", "tests/support/tsan"],
    "grpcpp/": ["proto/access", "client", "scheduler/service", "scheduler/.", "worker/agent", "worker/.", "tests"],
    "google/protobuf/": ["proto/access", "proto/types", "client", "scheduler/experiments", "scheduler/service", "scheduler/.", "worker/agent",
                         "worker/.", "tests"],
    "fmt/": ["proto", "store", "scheduler", "worker", "client", "tests"],
    "gtest/": ["tests"],
    "gmock/": ["tests"],
    "absl/status/": [""],
    "absl/synchronization/": ["scheduler/service", "tests/support/tsan"],  # gRPC's locks: no search for cycles of them; known to the thread sanitizer.
    "absl/time/": ["tests/support/tsan"],
    "absl/": [],  # Only Status: Debian's Abseil has a string_view of its own.
    "spdlog/": [],
    "uv.h": [],  # libtorch_cpu.so exports a libuv of its own.
}

# Who may include services (.grpc.pb.h): those who make calls or answer them.
SERVICES = ["client", "scheduler/service", "scheduler/.", "worker/agent", "worker/.", "tests"]

# Headers that a file cannot have together, however it comes by them, and why.
APART = [
    ("torch/", "google/protobuf/", "the wheel of torch carries protobuf 3.13's headers"),
    ("torch/", "fmt/", "some torch headers bring an fmt of their own"),
]

# Who may come by torch's headers at all, through whatever header.
TORCH_ROWS = ["worker/trainer", "tests/worker/trainer", "tests/golden"]

TOP_LEVEL = {
    "proto", "store", "scheduler", "worker", "client", "deploy", "tests", "docs", "cmake",
    "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "CMakeLists.txt", "CMakePresets.json",
    ".ci", ".gitattributes", ".gitignore",
}

# The variables of the environment that mean something; any other is taken for misspelt.
VARIABLES = "proto/catalog/variables.h"
# Where they are read: rows of programs, whose names are whole strings there; files whose names are words; and Python, which asks os.environ.
VARIABLES_READ = {"program": ["proto", "store", "scheduler", "worker", "client"], "script": ["deploy", ".ci", "Makefile"], "python": ["tests", "docs", "client/python"]}

MAX_LINES = 500
SOURCES = {".cc", ".h", ".cu", ".cuh", ".py", ".proto", ".def"}
TEXTS = SOURCES | {".cmake", ".in", ".json", ".md", ".sbatch", ".service", ".sh", ".sql", ".txt", ".yaml", ".yml", ".Containerfile"}
DATA = "tests/golden/chomsky"  # As their source made them.
