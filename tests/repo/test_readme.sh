#!/bin/sh
# The commands shown in README.md and docs/ print what is shown there.
exec scripts/readme-examples check
