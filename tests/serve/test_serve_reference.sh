#!/bin/bash
# The reference in docs/serve.md is that of serve/openapi.json.
command -v python3 >/dev/null || { echo '1..0 # SKIP there is no python3'; exit 0; }
exec scripts/serve-reference check
