#!/usr/bin/env python3
"""Writes the licences of the Debian packages that Hone's binaries contain or link, for those who distribute binaries.

    scripts/third_party_licenses.py -o THIRD_PARTY_LICENSES.txt

The texts are the copyright files of the installed packages, and the common licences that these refer to. What wheels
bundle stands in the wheels.
"""

import argparse
import re
import sys
from pathlib import Path

COMPILED_IN = ("libcli11-dev", "nlohmann-json3-dev", "libtomlplusplus-dev", "libprotozero-dev", "libflatbuffers-dev")
COMPILED_IN += ("libfarmhash-dev", "libhighwayhash-dev", "libmlir-22-dev", "llvm-22-dev")
LINKED = ("libfmt-dev", "libspdlog-dev", "libsqlite3-dev", "libmetis-dev", "zlib1g-dev", "libhwy1", "libpq-dev")
DOCUMENTS, COMMON = Path("/usr/share/doc"), Path("/usr/share/common-licenses")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    parts, common = [], set()
    for package in COMPILED_IN + LINKED:
        file = DOCUMENTS / package / "copyright"
        if not file.is_file():
            print(f"{file}: missing; install {package}", file=sys.stderr)
            return 1
        text = file.read_text(errors="replace")
        common |= set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
        parts.append(f"{'=' * 100}\n{package}\n{'=' * 100}\n\n{text.strip()}\n")
    for name in sorted(name for name in common if (COMMON / name).is_file()):
        parts.append(f"{'=' * 100}\n{name}\n{'=' * 100}\n\n{(COMMON / name).read_text(errors='replace').strip()}\n")
    options.output.write_text("\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
