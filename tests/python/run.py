"""Runs the tests of this folder and prints TAP."""

import os
import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    count = 0

    def _point(self, is_ok, test, directive="", detail=""):
        self.count += 1
        name = test.id().split(".", 1)[1].replace("_", " ") if hasattr(test, "id") else str(test)
        print("%s %d - %s%s" % ("ok" if is_ok else "not ok", self.count, name, directive), flush=True)
        for line in detail.splitlines():
            print("# " + line)

    def addSuccess(self, test):
        self._point(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._point(True, test, " # SKIP " + reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._point(False, test, "", "".join(traceback.format_exception(*err)))

    addError = addFailure


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.discover(folder, pattern="test_*.py")
    result = TapResult()
    suite.run(result)
    print("1..%d" % result.count)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
