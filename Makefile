# make serve | test | check | format | bench     (variables: PYTHON=python3.12 PORT=9001)
PYTHON ?= python3
PORT ?= 9000
npm := tests/end_to_end/js/node_modules/.package-lock.json

.PHONY: serve test check format bench
serve: .venv/treedb
	.venv/bin/treedb serve --dev --static examples/chat --port $(PORT) --data ./treedb-data
test: .venv/dev .venv/tools $(npm)
	scripts/check && scripts/test
check: .venv/dev
	scripts/check
format: .venv/dev
	scripts/format
bench: .venv/dev .venv/tools
	.venv/bin/python -m benchmarks
.venv/treedb: pyproject.toml
	scripts/install-python $(PYTHON) . && touch $@
.venv/dev: pyproject.toml
	scripts/install-python $(PYTHON) '.[dev]' && touch $@ .venv/treedb
.venv/tools: scripts/install-tools | .venv/dev
	scripts/install-tools && touch $@
$(npm): tests/end_to_end/js/package-lock.json | .venv/tools
	cd tests/end_to_end/js && npm ci --omit=optional --ignore-scripts --no-audit --no-fund
