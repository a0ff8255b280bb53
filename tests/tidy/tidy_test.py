#!/usr/bin/env python3
"""Plants one violation of each rule in a small tree and expects tidy.py to find that one and nothing else."""
import pathlib
import tempfile
import unittest

import tidy

# A tree in which all is well.
CLEAN = {
    "CMakeLists.txt": "add_subdirectory(store)\n",
    "proto/base/status.h": '#pragma once\n#include "absl/status/status.h"\n',
    "proto/types/job.h": '#pragma once\n#include "longreach/v1/spec.pb.h"\n',
    "proto/longreach/v1/a.proto": "service A {\n  rpc Do(X) returns (Y) {\n    option (role) = ROLE_CLIENT;\n  }\n}\n",
    "store/CMakeLists.txt": "add_library(s jobs.cc)  # not other.cc\n",
    "store/jobs.h": '#pragma once\n#include <string>\n\n#include "proto/base/status.h"\n',
    "store/jobs.cc": '#include "store/jobs.h"\n\n#include <fmt/format.h>\n#include <sqlite3.h>\n\n#include "proto/types/job.h"\n',
    "worker/CMakeLists.txt": "file(GLOB sources ${CMAKE_CURRENT_SOURCE_DIR}/trainer/encodings/*.cc)\n",
    "worker/trainer/train.h": '#pragma once\n#include "proto/base/status.h"\n',
    "worker/trainer/encodings/rope.cc": '#include <torch/types.h>\n\n#include "worker/trainer/train.h"\n',
    "deploy/scheduler.Containerfile": "FROM debian:12-slim\nCOPY CMakeLists.txt proto /src/\nCOPY --from=build /a /b\n",
    "deploy/requirements/cpu.txt": "torch==2 \\\n    --hash=sha256:a\n",
    "deploy/requirements/cuda.txt": "nvcc==13 \\\n    --hash=sha256:b\ntorch==2 \\\n    --hash=sha256:a\n",
}


def problems_with(changes):
    with tempfile.TemporaryDirectory() as root:
        for file, text in {**CLEAN, **changes}.items():
            path = pathlib.Path(root, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tidy.problems(root)[0]


class TidyTest(unittest.TestCase):
    def assert_found(self, changes, *words):
        found = problems_with(changes)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_accepts_a_clean_tree(self):
        self.assertEqual(problems_with({}), [])

    def test_finds_a_folder_that_includes_beyond_its_row(self):
        self.assert_found({"store/jobs.h": '#pragma once\n\n#include "worker/trainer/train.h"\n'}, "store/jobs.h:3", "store may not include")
        self.assert_found({"proto/base/clock.h": '#pragma once\n#include "proto/types/job.h"\n'}, "proto/base may not")
        self.assert_found({"scheduler/core/lease.h": '#pragma once\n#include "store/jobs.h"\n'}, "scheduler/core may not")

    def test_lets_the_agent_see_only_the_trainers_door(self):
        door = {"worker/agent/run.h": '#pragma once\n#include "worker/trainer/train.h"\n'}
        self.assertEqual(problems_with(door), [])
        inside = {"worker/agent/run.h": '#pragma once\n#include "worker/trainer/model.h"\n', "worker/trainer/model.h": "#pragma once\n"}
        self.assert_found(inside, "worker/agent may not include")

    def test_keeps_main_files_apart_from_their_folders(self):
        main = {"worker/main.cc": '#include <CLI/CLI.hpp>\n', "worker/CMakeLists.txt": "trainer/encodings/*.cc main.cc\n"}
        self.assertEqual(problems_with(main), [])
        main["worker/main.cc"] = '#include <torch/types.h>\n'
        self.assertEqual(len(problems_with(main)), 2)

    def test_finds_headers_of_others_in_the_wrong_place(self):
        self.assert_found({"proto/types/job.h": "#pragma once\n#include <sqlite3.h>\n"}, "proto/types may not include <sqlite3.h>")
        self.assert_found({"store/jobs.h": "#pragma once\n#include <grpcpp/grpcpp.h>\n"}, "store may not include <grpcpp")
        self.assert_found({"store/jobs.h": '#pragma once\n#include "absl/strings/str_cat.h"\n'}, "nobody may")
        self.assert_found({"store/jobs.h": "#pragma once\n#include <fmt/format.h>\n"}, ".cc files only")

    def test_keeps_calls_out_of_decisions(self):
        messages = {"scheduler/core/packs.h": '#pragma once\n#include "longreach/v1/worker.pb.h"\n'}
        self.assertEqual(problems_with(messages), [])
        self.assert_found({"scheduler/core/packs.h": '#pragma once\n#include "longreach/v1/worker.grpc.pb.h"\n'}, "scheduler/core may not")

    def test_finds_torch_beside_fmt_or_protobuf(self):
        self.assert_found({"worker/trainer/encodings/rope.cc": "#include <torch/types.h>\n#include <fmt/format.h>\n"}, "<fmt/...>")
        through_ours = {"tests/golden/a.h": '#pragma once\n#include <torch/types.h>\n',
                        "tests/golden/b.h": '#pragma once\n#include "tests/golden/a.h"\n#include "longreach/v1/a.pb.h"\n'}
        self.assert_found(through_ours, "tests/golden/b.h", "<google/protobuf/...>")

    def test_finds_torch_that_comes_through_a_door_that_should_be_plain(self):
        changes = {"worker/trainer/train.h": "#pragma once\n#include <torch/types.h>\n",
                   "worker/agent/run.h": '#pragma once\n#include "worker/trainer/train.h"\n'}
        self.assert_found(changes, "worker/agent/run.h", "<torch/...>")

    def test_finds_names_that_do_not_exist_or_do_not_begin_at_the_root(self):
        self.assert_found({"store/jobs.h": '#pragma once\n#include "store/gone.h"\n'}, "no file store/gone.h")
        self.assert_found({"store/jobs.h": '#pragma once\n#include "../store/jobs.cc"\n'}, "not named from the root")

    def test_finds_names_whose_header_does_not_come_with_the_file(self):
        declared = ("#pragma once\nnamespace longreach {\nstruct Lease {};\nconstexpr int kTerm = 15;\nvoid Renew(Lease& lease);\nstruct Now {};\n"
                    "}  // namespace longreach\n")
        for used in ("Lease a;", "int a = kTerm;", "void A() { Renew(a); }", "longreach::Lease a;"):
            bad = f"namespace longreach::store {{\n{used}\n}}\n"
            tree = {"proto/base/lease.h": declared, "store/jobs.cc": bad}
            self.assert_found(tree, "store/jobs.cc", "lease.h")
            self.assertEqual(problems_with({**tree, "store/jobs.cc": '#include "proto/base/lease.h"\n' + bad}), [])
            through = {"store/jobs.h": '#pragma once\n#include "proto/base/lease.h"\n', "store/jobs.cc": '#include "store/jobs.h"\n' + bad}
            self.assertEqual(problems_with({**tree, **through}), [])
        for other in ("// Lease", 'auto a = "Lease";', "struct Lease {};", "using other::Lease;", "other::Lease a;", "a.Lease();", "enum { kTerm };",
                      "template <typename Lease> void A(Lease a);", "int kTerm = 1, b = kTerm;"):
            self.assertEqual(problems_with({"proto/base/lease.h": declared, "store/jobs.cc": f"namespace longreach {{\n{other}\n}}\n"}), [], other)

    def test_finds_untidy_text(self):
        self.assert_found({"store/jobs.h": "#pragma once\nint a; \n"}, "store/jobs.h:2", "blanks")
        self.assert_found({"store/jobs.h": "#pragma once\n\tint a;\n"}, "tab")
        self.assert_found({"store/jobs.h": "#pragma once\nint a;"}, "no end")
        self.assert_found({"store/jobs.h": "int a;\n"}, "#pragma once")
        self.assert_found({"store/jobs.h": "#pragma once\n" + "int a;\n" * 500}, "501 lines")

    def test_finds_a_new_entry_at_the_top(self):
        self.assert_found({"misc/a.txt": "x\n"}, "misc: the top level")

    def test_finds_an_rpc_without_a_role(self):
        self.assert_found({"proto/longreach/v1/a.proto": "service A {\n  rpc Do(X) returns (stream Y);\n}\n"}, "rpc Do has no role")
        self.assert_found({"proto/longreach/v1/a.proto": "service A {\n  rpc Do(X) returns (Y) {\n    // option (role) = ROLE_CLIENT;\n  }\n}\n"},
                          "rpc Do has no role")

    def test_finds_a_source_that_is_not_built(self):
        self.assert_found({"store/other.cc": ""}, "store/other.cc: no CMakeLists.txt")
        self.assert_found({"worker/trainer/encodings/deep/x.cc": ""}, "no CMakeLists.txt")

    def test_finds_deployments_that_cannot_work(self):
        self.assert_found({"deploy/scheduler.Containerfile": "COPY gone /src/\n"}, "copies gone")
        self.assert_found({"deploy/packages.txt": "make\ncmake\n"}, "not sorted")
        self.assert_found({"deploy/requirements/test.txt": "torch==3 \\\n    --hash=sha256:a\n"}, "share an environment")
        self.assert_found({"deploy/requirements/cpu.txt": "torch==2 \\\n    --hash=sha256:c\n"}, "is not the same")

    def test_finds_a_variable_that_nobody_knows(self):
        known = {"proto/catalog/variables.h": '#pragma once\n    "DATA",  // Worker.\n    "KEY",\n'}
        fine = {"worker/trainer/train.h": '#pragma once\nint a = getenv("LONGREACH_DATA"), b = Text("LONGREACH_DATE is none");\n', "Makefile": "a:\n\tcmake -DLONGREACH_LANES=1 $(LONGREACH_KEY)\n",
                "tests/a.py": 'x = os.environ.get("LONGREACH_KEY")\ny = "LONGREACH_LIES"\n'}
        self.assertEqual(problems_with({**known, **fine}), [])
        for file, text in {"worker/trainer/train.h": '#pragma once\nint a = getenv("LONGREACH_DATE");\n', "Makefile": "a:\n\techo $(LONGREACH_KEYS)\n",
                           "tests/a.py": "x = os.environ[" + '"LONGREACH_KEYS"]\n'}.items():
            self.assert_found({**known, file: text}, f"{file}: reads LONGREACH_", "proto/catalog/variables.h lacks")
        self.assert_found({"proto/catalog/variables.h": '#pragma once\n    "KEY",\n    "DATA",\n'}, "not sorted")

    def test_finds_a_link_to_nowhere(self):
        fine = "See [a](../CMakeLists.txt), [b](https://example.org/x) and [c](#here).\n"
        self.assertEqual(problems_with({"docs/a.md": fine}), [])
        self.assert_found({"docs/a.md": "\nSee [a](gone.md#part).\n"}, "docs/a.md:2", "gone.md")


if __name__ == "__main__":
    unittest.main()
